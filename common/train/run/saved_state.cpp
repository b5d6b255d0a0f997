#include "run/saved_state.hpp"

#include <string>

#include "base/error.hpp"

namespace lockstep::run {
namespace {

// Reads entries of a JSON object in a file; names an entry that is wrong.
class Reader {
 public:
  Reader(const nlohmann::json& object, const std::filesystem::path& path) : object_(object), path_(path) {
    if (!object.is_object()) fail("not an object");
  }

  [[nodiscard]] const nlohmann::json& at(const char* name) const {
    if (!object_.contains(name)) fail(concat("no entry ", name));
    return object_[name];
  }

  // All numbers are integers of at least 0.
  [[nodiscard]] std::uint64_t number(const char* name) const {
    const nlohmann::json& value = at(name);
    // Parsed text without a minus sign is unsigned; a number set by a program may be signed.
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

// Written only if not empty; files of earlier versions never have it.
constexpr const char* kKept = "kept";
constexpr const char* kFewerSteps = "fewer_optimizer_steps";

}  // namespace

nlohmann::json to_json(const optim::StepCounts& counts) {
  nlohmann::json json{{"optimizer_steps", counts.steps}};
  if (!counts.fewer.empty()) json[kFewerSteps] = counts.fewer;
  return json;
}

optim::StepCounts step_counts_from(const nlohmann::json& json, const std::filesystem::path& path) {
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

nlohmann::json to_json(const data::SamplerState& state) {
  return {
      {"seed", state.seed}, {"epoch", state.epoch}, {"consumed", state.consumed}, {"dataset_size", state.dataset_size}};
}

data::SamplerState sampler_state_from(const nlohmann::json& json, const std::filesystem::path& path) {
  const Reader sampler(json, path);
  return {.seed = sampler.number("seed"),
          .epoch = sampler.count("epoch"),
          .consumed = sampler.count("consumed"),
          .dataset_size = sampler.count("dataset_size")};
}

nlohmann::json to_json(const SavedState& state) {
  nlohmann::json json = to_json(state.optimizer_steps);
  json["step"] = state.step;
  json["sampler"] = to_json(state.sampler);
  json["options"] = state.options;
  if (!state.kept.is_null()) json[kKept] = state.kept;
  return json;
}

SavedState saved_state_from(const nlohmann::json& json, const std::filesystem::path& path) {
  const Reader reader(json, path);
  return {.step = reader.count("step"),
          .optimizer_steps = step_counts_from(json, path),
          .sampler = sampler_state_from(reader.at("sampler"), path),
          .kept = json.value(kKept, nlohmann::json()),
          .options = reader.at("options")};
}

}  // namespace lockstep::run
