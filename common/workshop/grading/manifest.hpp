#pragma once
/// @file
/// A submission's own description: manifest.json at its root.
#include <map>
#include <string>
#include <vector>

#include "exercise/catalogue.hpp"
#include "grading/release.hpp"

namespace lockstep::grading {

inline constexpr int kManifestVersion = 2;                     ///< Grows when the format changes.
inline constexpr const char* kManifestName = "manifest.json";  ///< In a submission.

struct Manifest {
  std::string student;                         ///< As the student wrote it.
  Release release;                             ///< Of the student's tree.
  std::vector<std::string> exercises;          ///< Their numbers.
  std::vector<std::string> references;         ///< Those with our solution, or begun with it (use-reference).
  std::map<std::string, std::string> digests;  ///< SHA-256 of each file, by path.
};

/// As JSON. Bytes of the student's name that are not UTF-8 become U+FFFD: git's user.name may have any encoding.
[[nodiscard]] std::string to_text(const Manifest& manifest);
/// @throws FormatError  It is not a manifest of this version.
[[nodiscard]] Manifest parse_manifest(const std::string& text);

/// Path of an exercise's file in a submission: "work/02.1_reduce_scatter/reduce_scatter.cpp".
[[nodiscard]] std::string path_in_submission(const exercise::Exercise& exercise, const std::string& file);

}  // namespace lockstep::grading
