#include "run/saved_state.hpp"

#include <string>

#include "base/error.hpp"

namespace lockstep::run {
namespace {

// Reads the entries of an object of a file; a wrong one is named.
class Reader {
 public:
  Reader(const nlohmann::json& object, const std::filesystem::path& path) : object_(object), path_(path) {
    if (!object.is_object()) fail("not an object");
  }

  [[nodiscard]] const nlohmann::json& at(const char* name) const {
    if (!object_.contains(name)) fail(concat("no entry ", name));
    return object_[name];
  }

  // Whole numbers of at least 0 are all there are.
  [[nodiscard]] std::uint64_t number(const char* name) const {
    const nlohmann::json& value = at(name);
    // Without a minus sign, text reads as unsigned; a number from a program may be a signed one.
    if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<std::int64_t>() < 0))
      fail(concat(name, " is not a whole number of at least 0"));
    return value.get<std::uint64_t>();
  }

  [[nodiscard]] std::int64_t count(const char* name) const {
    const std::uint64_t value = number(name);
    if (value > INT64_MAX) fail(concat(name, " ", value, " is too large"));
    return static_cast<std::int64_t>(value);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw FormatError(concat(path_.string(), ": ", what)); }

  const nlohmann::json& object_;
  const std::filesystem::path& path_;
};

// Written only where there is something to say; files of earlier versions never have them.
constexpr const char* kKept = "kept";
constexpr const char* kFewerSteps = "fewer_optimizer_steps";

optim::StepCounts optimizer_steps_from(const nlohmann::json& json, const std::filesystem::path& path) {
  optim::StepCounts counts{.steps = Reader(json, path).count("optimizer_steps")};
  if (!json.contains(kFewerSteps)) return counts;
  const Reader fewer(json[kFewerSteps], path);
  for (const auto& entry : json[kFewerSteps].items()) {
    const std::int64_t count = fewer.count(entry.key().c_str());
    if (count > counts.steps)
      throw FormatError(
          concat(path.string(), ": ", entry.key(), " has ", count, " updates in ", counts.steps, " steps"));
    counts.fewer[entry.key()] = count;
  }
  return counts;
}

}  // namespace

nlohmann::json to_json(const SavedState& state) {
  nlohmann::json json{{"step", state.step},
                      {"optimizer_steps", state.optimizer_steps.steps},
                      {"sampler",
                       {{"seed", state.sampler.seed},
                        {"epoch", state.sampler.epoch},
                        {"consumed", state.sampler.consumed},
                        {"dataset_size", state.sampler.dataset_size}}},
                      {"options", state.options}};
  if (!state.optimizer_steps.fewer.empty()) json[kFewerSteps] = state.optimizer_steps.fewer;
  if (!state.kept.is_null()) json[kKept] = state.kept;
  return json;
}

SavedState saved_state_from(const nlohmann::json& json, const std::filesystem::path& path) {
  const Reader reader(json, path);
  const Reader sampler(reader.at("sampler"), path);
  return {.step = reader.count("step"),
          .optimizer_steps = optimizer_steps_from(json, path),
          .sampler = {.seed = sampler.number("seed"),
                      .epoch = sampler.count("epoch"),
                      .consumed = sampler.count("consumed"),
                      .dataset_size = sampler.count("dataset_size")},
          .kept = json.value(kKept, nlohmann::json()),
          .options = reader.at("options")};
}

}  // namespace lockstep::run
