#include "grading/manifest.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"
#include "exercise_tool/shell.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;

// The first line that git prints; `otherwise` where it fails.
std::string git(const fs::path& root, std::vector<std::string> words, const std::string& otherwise) {
  words.insert(words.begin(), {"git", "-C", root.string(), "-c", concat("safe.directory=", root.string())});
  try {
    const exercise::Finished finished = exercise::run(words, root, exercise::Collect::kBoth);
    const std::string line = finished.output.substr(0, finished.output.find('\n'));
    return finished.exit_code == 0 && !line.empty() ? line : otherwise;
  } catch (const IoError&) {
    return otherwise;  // there is no git
  }
}

}  // namespace

Release release_of(const fs::path& root) {
  return {git(root, {"describe", "--tags", "--abbrev=0"}, "untagged"), git(root, {"rev-parse", "HEAD"}, "unknown")};
}

std::string to_text(const Manifest& manifest) {
  const nlohmann::json json = {{"version", kManifestVersion},     {"student", manifest.student},
                               {"release", manifest.release.tag}, {"commit", manifest.release.commit},
                               {"exercises", manifest.exercises}, {"files", manifest.digests}};
  return dump_json(json, 1) + "\n";
}

Manifest parse_manifest(const std::string& text) {
  try {
    const nlohmann::json json = parse_json(text);
    if (json.at("version") != kManifestVersion)
      throw FormatError(concat(kManifestName, ": this is version ", json.at("version").dump(), "; ", kManifestVersion,
                               " is understood"));
    return {.student = json.at("student"),
            .release = {json.at("release"), json.at("commit")},
            .exercises = json.at("exercises").get<std::vector<std::string>>(),
            .digests = json.at("files").get<std::map<std::string, std::string>>()};
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(concat(kManifestName, ": ", error.what()));
  }
}

std::string path_in_submission(const exercise::Exercise& exercise, const std::string& file) {
  return concat("work/", exercise.work_name(), "/", file);
}

}  // namespace lockstep::grading
