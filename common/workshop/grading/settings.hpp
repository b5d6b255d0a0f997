#pragma once
/// @file
/// What a class is graded with: made once by `grade`, read by the process that grades one submission.
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

/// Settings of a class.
struct Settings {
  std::vector<std::string> exercises;                  ///< Numbers of those that count.
  std::map<std::string, std::uint64_t> seeds;          ///< Secret seeds by exercise; empty: the public one alone.
  std::map<std::string, std::set<std::string>> given;  ///< By exercise: the checks that its template passes.
  Release release;                                     ///< Of this tree.
  bool takes_any_release = false;                      ///< Submissions of other releases are graded, too.
  bool reference_counts = false;                       ///< Our own solutions get points, too.
  SandboxKind sandbox = SandboxKind::kLimitsOnly;      ///< How submissions are kept away from everything else.
  double patience = 2;                                 ///< Limits on wall time are so many times longer.
  std::filesystem::path out;                           ///< Where results go; absolute.

  /// Where the headers are that submissions may include.
  [[nodiscard]] std::filesystem::path stage() const { return out / ".scratch" / "stage"; }
  /// For what is made of a submission while it is graded. No key names anything else of ours.
  [[nodiscard]] std::filesystem::path scratch_of(const std::string& key) const {
    return out / ".scratch" / "submissions" / key;
  }
  /// A submission's results.
  [[nodiscard]] std::filesystem::path folder_of(const std::string& key) const { return out / "students" / key; }
};

/// For those who grade a single submission.
[[nodiscard]] nlohmann::json to_json(const Settings& settings);
/// @throws nlohmann::json::exception  It is of another version.
[[nodiscard]] Settings settings_from(const nlohmann::json& json);

}  // namespace lockstep::grading
