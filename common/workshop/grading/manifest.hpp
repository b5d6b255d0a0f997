#pragma once
/// @file
/// What a submission says of itself: manifest.json at its root.
#include <map>
#include <string>
#include <vector>

#include "exercise/catalogue.hpp"
#include "grading/release.hpp"

namespace lockstep::grading {

inline constexpr int kManifestVersion = 2;                     ///< Grows when its form changes.
inline constexpr const char* kManifestName = "manifest.json";  ///< In a submission.

/// One per submission.
struct Manifest {
  std::string student;                         ///< As the student has written it.
  Release release;                             ///< Of the student's tree.
  std::vector<std::string> exercises;          ///< Their numbers.
  std::vector<std::string> references;         ///< Of these, our code or begun with it (use-reference).
  std::map<std::string, std::string> digests;  ///< SHA-256 of each file, by its path.
};

/// As text. @throws nlohmann::json::type_error  The name is no UTF-8.
[[nodiscard]] std::string to_text(const Manifest& manifest);
/// @throws FormatError  It is no manifest of this version.
[[nodiscard]] Manifest parse_manifest(const std::string& text);

/// Where a file of an exercise is in a submission: "work/02.1_reduce_scatter/reduce_scatter.cpp".
[[nodiscard]] std::string path_in_submission(const exercise::Exercise& exercise, const std::string& file);

}  // namespace lockstep::grading
