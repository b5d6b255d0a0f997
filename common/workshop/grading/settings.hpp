#pragma once
/// @file
/// The settings for grading a class: written once by `grade`, read by the process that grades one submission.
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "grading/manifest.hpp"
#include "grading/sandbox.hpp"

namespace lockstep::grading {

struct Settings {
  std::vector<std::string> exercises;                  ///< Numbers of those that count.
  std::map<std::string, std::uint64_t> seeds;          ///< By exercise; empty: only the public seed.
  std::map<std::string, std::set<std::string>> given;  ///< By exercise: the checks that its template passes.
  Release release;                                     ///< Of this tree.
  bool takes_any_release = false;                      ///< Grade submissions of other releases, too.
  bool reference_counts = false;                       ///< Award points for our own solutions, too.
  SandboxKind sandbox = SandboxKind::kLimitsOnly;      ///< Isolation of submissions.
  double patience = 2;                                 ///< Multiplies all wall-clock limits.
  std::filesystem::path out;                           ///< Folder for results; absolute.

  /// Folder of the headers that submissions may include.
  [[nodiscard]] std::filesystem::path stage() const { return out / ".scratch" / "stage"; }
  /// Temporary folder for grading a submission. No key collides with another name of ours.
  [[nodiscard]] std::filesystem::path scratch_of(const std::string& key) const {
    return out / ".scratch" / "submissions" / key;
  }
  /// Folder of a submission's results.
  [[nodiscard]] std::filesystem::path folder_of(const std::string& key) const { return out / "students" / key; }
};

/// For grade-one.
[[nodiscard]] nlohmann::json to_json(const Settings& settings);
/// @throws nlohmann::json::exception  It is from another version.
[[nodiscard]] Settings settings_from(const nlohmann::json& json);

}  // namespace lockstep::grading
