#pragma once
/// @file
/// What a submission says of itself: manifest.json at its root.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "exercise_tool/workspace.hpp"

namespace lockstep::grading {

inline constexpr int kManifestVersion = 1;                     ///< Grows when its form changes.
inline constexpr const char* kManifestName = "manifest.json";  ///< In a submission.

/// Which state of the course a tree is.
struct Release {
  std::string tag;     ///< The latest tag that its commit follows; "untagged" where there is none.
  std::string commit;  ///< Its commit; "unknown" outside of git.
};

/// One per submission.
struct Manifest {
  std::string student;                         ///< As the student has written it.
  Release release;                             ///< Of the student's tree.
  std::vector<std::string> exercises;          ///< Their numbers.
  std::map<std::string, std::string> digests;  ///< SHA-256 of each file, by its path.
};

/// The release of the project's folder. Asks git.
[[nodiscard]] Release release_of(const std::filesystem::path& root);

/// As text. @throws nlohmann::json::type_error  The name is no UTF-8.
[[nodiscard]] std::string to_text(const Manifest& manifest);
/// @throws FormatError  It is no manifest of this version.
[[nodiscard]] Manifest parse_manifest(const std::string& text);

/// Where a file of an exercise is in a submission: "work/02.1_reduce_scatter/reduce_scatter.cpp".
[[nodiscard]] std::string path_in_submission(const exercise::Exercise& exercise, const std::string& file);

}  // namespace lockstep::grading
