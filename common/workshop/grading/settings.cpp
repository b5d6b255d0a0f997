#include "grading/settings.hpp"

#include <nlohmann/json.hpp>

namespace lockstep::grading {

nlohmann::json to_json(const Settings& settings) {
  return {{"exercises", settings.exercises},
          {"seeds", settings.seeds},
          {"given", settings.given},
          {"release", settings.release.tag},
          {"commit", settings.release.commit},
          {"any_release", settings.takes_any_release},
          {"reference_counts", settings.reference_counts},
          {"sandbox", static_cast<int>(settings.sandbox)},
          {"patience", settings.patience},
          {"out", settings.out.string()}};
}

Settings settings_from(const nlohmann::json& json) {
  Settings settings{.exercises = json.at("exercises").get<std::vector<std::string>>(),
                    .seeds = json.at("seeds").get<std::map<std::string, std::uint64_t>>(),
                    .given = json.at("given").get<std::map<std::string, std::set<std::string>>>(),
                    .release = {json.at("release"), json.at("commit")},
                    .takes_any_release = json.at("any_release"),
                    .reference_counts = json.at("reference_counts"),
                    .sandbox = static_cast<SandboxKind>(json.at("sandbox").get<int>()),
                    .patience = json.at("patience"),
                    .out = json.at("out").get<std::string>()};
  return settings;
}

}  // namespace lockstep::grading
