#include "run/saved_state.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using run::SavedState;

namespace {

SavedState example() {
  return {.step = 7,
          .optimizer_steps = {.steps = 6, .fewer = {{"h.0.weight", 2}}},
          .sampler = {.seed = UINT64_MAX, .epoch = 2, .consumed = 30, .dataset_size = 59},
          .options = {{"model", "tiny"}}};
}

}  // namespace

TEST_CASE("the state of a training reads back as written", "[run]") {
  const SavedState read = run::saved_state_from(run::to_json(example()), "state.json");
  CHECK(read.step == 7);
  CHECK(read.optimizer_steps.steps == 6);
  CHECK(read.optimizer_steps.fewer == example().optimizer_steps.fewer);
  CHECK(read.sampler == example().sampler);
  CHECK(read.options == example().options);
}

TEST_CASE("a state without counts of single parameters, as of earlier versions, has the same one for all", "[run]") {
  nlohmann::json json = run::to_json(example());
  json.erase("fewer_optimizer_steps");
  const SavedState read = run::saved_state_from(json, "state.json");
  CHECK(read.optimizer_steps.steps == 6);
  CHECK(read.optimizer_steps.fewer.empty());
  CHECK(run::to_json(read) == json);
}

TEST_CASE("a state that is not one is refused by the entry's name", "[run]") {
  const auto refusal = [](const char* place, const nlohmann::json& value) -> std::string {
    nlohmann::json json = run::to_json(example());
    json[nlohmann::json::json_pointer(place)] = value;
    try {
      (void)run::saved_state_from(json, "state.json");
      return "";
    } catch (const FormatError& error) {
      return error.what();
    }
  };
  CHECK_THAT(refusal("/step", -1), ContainsSubstring("state.json: step is not a whole number"));
  CHECK_THAT(refusal("/optimizer_steps", 1e300), ContainsSubstring("optimizer_steps is not a whole number"));
  CHECK_THAT(refusal("/step", UINT64_MAX), ContainsSubstring("step 18446744073709551615 is too large"));
  CHECK_THAT(refusal("/sampler", 3), ContainsSubstring("state.json: not an object"));
  CHECK_THAT(refusal("/sampler/consumed", "30"), ContainsSubstring("consumed is not a whole number"));
  CHECK_THAT(refusal("/fewer_optimizer_steps", 3), ContainsSubstring("state.json: not an object"));
  CHECK_THAT(refusal("/fewer_optimizer_steps/h.0.weight", 7), ContainsSubstring("h.0.weight has 7 updates in 6 steps"));
  nlohmann::json without = run::to_json(example());
  without.erase("options");
  CHECK_THROWS_WITH(run::saved_state_from(without, "state.json"), "state.json: no entry options");
}
