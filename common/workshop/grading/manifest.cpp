#include "grading/manifest.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"

namespace lockstep::grading {

std::string to_text(const Manifest& manifest) {
  const nlohmann::json json = {{"version", kManifestVersion},     {"student", manifest.student},
                               {"release", manifest.release.tag}, {"commit", manifest.release.commit},
                               {"exercises", manifest.exercises}, {"references", manifest.references},
                               {"files", manifest.digests}};
  return dump_json(json, 1, BadUtf8::kReplace) + "\n";
}

Manifest parse_manifest(const std::string& text) {
  try {
    const nlohmann::json json = parse_json(text);
    if (json.at("version") != kManifestVersion)
      throw FormatError(
          concat(kManifestName, ": it has a different version; this program reads version ", kManifestVersion));
    return {.student = json.at("student"),
            .release = {json.at("release"), json.at("commit")},
            .exercises = json.at("exercises").get<std::vector<std::string>>(),
            .references = json.at("references").get<std::vector<std::string>>(),
            .digests = json.at("files").get<std::map<std::string, std::string>>()};
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(concat(kManifestName, ": ", error.what()));
  }
}

std::string path_in_submission(const exercise::Exercise& exercise, const std::string& file) {
  return concat("work/", exercise.work_name(), "/", file);
}

}  // namespace lockstep::grading
