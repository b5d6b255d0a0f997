#pragma once
/// @file
/// Where a learner's files are, and which exercise a command is about.
#include <filesystem>
#include <string>
#include <vector>

#include "exercise/catalogue.hpp"

namespace lockstep::exercise {

/// The project, its exercises, and the learner's copies of them.
struct Workspace {
  std::filesystem::path root;       ///< Of the project: LOCKSTEP_ROOT, else found from this program.
  std::filesystem::path build;      ///< build/PRESET
  std::vector<Exercise> catalogue;  ///< All exercises.

  /// The learner's copy: work/02.1_reduce_scatter.
  [[nodiscard]] std::filesystem::path work(const Exercise& exercise) const;
  /// Whether there is one.
  [[nodiscard]] bool is_started(const Exercise& exercise) const;
  /// A path as the learner would type it in the project's folder.
  [[nodiscard]] std::string shown(const std::filesystem::path& path) const;

  /// The exercise of a command's first word; without one, the one whose files were changed last.
  /// @throws UsageError  None is started.
  [[nodiscard]] const Exercise& chosen(const std::vector<std::string>& words) const;
  /// The first in the catalogue's order that is not passed; null: all are.
  [[nodiscard]] const Exercise* next_open() const;
};

/// @throws UsageError  This program has been moved out of its build folder. @throws FormatError  As read_catalogue().
[[nodiscard]] Workspace open_workspace();

/// A short fingerprint of the learner's files of an exercise, as verdicts show it.
[[nodiscard]] std::string fingerprint(const Workspace& workspace, const Exercise& exercise);

}  // namespace lockstep::exercise
