#pragma once
/// @file
/// Decides which files of the course a release contains, with a reason for each omission.
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "exercise/catalogue.hpp"

namespace lockstep::release {

/// The contents of a release. Paths are relative to the project's root.
struct Plan {
  std::vector<exercise::Exercise> exercises;               ///< Included exercises.
  std::set<std::string> files;                             ///< Files to copy; some are changed.
  std::map<std::string, std::set<std::string>> giveaways;  ///< Omitted sources, with the exercises that they answer.
  std::set<std::string> shown;  ///< "may_show": files that knowingly contain part of an answer.

  /// True if the release has a file or folder with this path.
  [[nodiscard]] bool has(const std::string& path) const;
};

/// An entry of "gives_away" in an exercise.json: a source of the course that answers the exercise.
struct Giveaway {
  std::string path;      ///< A file, or a folder, which stands for its files except headers.
  std::string function;  ///< "path#function": answers the exercise under a name of its own; empty: none is named.
};

/// @throws FormatError  The exercise.json is invalid. @throws IoError  There is none.
[[nodiscard]] std::vector<Giveaway> giveaways_of(const std::filesystem::path& root, const exercise::Exercise& exercise);

/// The sources that an entry stands for. @param tracked  All files of the course.
[[nodiscard]] std::vector<std::string> files_of(const Giveaway& giveaway, const std::vector<std::string>& tracked);

/// @param tracked  All files tracked by git. @param chosen  Exercises ("02.1") or chapters ("02"); empty: all.
/// @throws UsageError  No exercise matches one of these. @throws FormatError  A file that an exercise names does not
/// exist.
[[nodiscard]] Plan plan_release(const std::filesystem::path& root, const std::vector<std::string>& tracked,
                                const std::vector<std::string>& chosen);

/// True for paths that no release may contain: solutions, judges, mistakes, material for instructors.
[[nodiscard]] bool is_for_instructors(const std::string& path);

}  // namespace lockstep::release
