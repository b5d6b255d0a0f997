#pragma once
/// @file
/// The learner's files, and the exercise that a command is about.
#include <filesystem>
#include <string>
#include <vector>

#include "exercise/catalogue.hpp"

namespace lockstep::exercise {

/// The project, its exercises, and the learner's copies of them.
struct Workspace {
  std::filesystem::path root;   ///< LOCKSTEP_ROOT, otherwise derived from this program's path.
  std::filesystem::path build;  ///< build/PRESET
  std::vector<Exercise> catalogue;

  /// The learner's copy: work/02.1_reduce_scatter.
  [[nodiscard]] std::filesystem::path work(const Exercise& exercise) const;
  /// True if that copy exists.
  [[nodiscard]] bool is_started(const Exercise& exercise) const;
  /// False in a repository for students, which has no solutions.
  [[nodiscard]] bool has_solution(const Exercise& exercise) const;
  /// A path as the learner would type it in the project's folder.
  [[nodiscard]] std::string shown(const std::filesystem::path& path) const;

  /// The exercise of a command's first word; without one, that of the most recently changed files.
  /// @throws UsageError  No exercise is started.
  [[nodiscard]] const Exercise& chosen(const std::vector<std::string>& words) const;
  /// The first exercise, in catalogue order, that has not been passed; null: all have.
  [[nodiscard]] const Exercise* next_open() const;
};

/// @throws UsageError  This program is not in its build folder. @throws FormatError  See read_catalogue().
[[nodiscard]] Workspace open_workspace();

/// A short fingerprint of the learner's files, as verdicts show it.
[[nodiscard]] std::string fingerprint(const Workspace& workspace, const Exercise& exercise);

}  // namespace lockstep::exercise
