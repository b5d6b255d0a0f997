#pragma once
/// @file
/// What is remembered of each exercise between commands, in .lockstep/exercises/ID.json: the last verdict, the hints
/// seen, which files have passed. Nothing of it counts when a class is graded.
#include <nlohmann/json.hpp>
#include <string>

#include "exercise_tool/workspace.hpp"

namespace lockstep::exercise {

/// How far an exercise is.
enum class ExerciseState {
  kUntouched,
  kStarted,
  kPassed,    ///< The files as they are now have passed.
  kChanged,   ///< Other files have passed.
  kReference  ///< The files are ours (use-reference).
};

/// What is remembered.
struct Record {
  int hints_seen = 0;     ///< How many.
  std::string passed;     ///< Fingerprint of the files that passed last; empty: none.
  std::string reference;  ///< Fingerprint of our files, where use-reference has put them.
  nlohmann::json last;    ///< The judge's last words; null: not checked yet.

  /// Whether our files were the beginning of what is there now. `reset` and a new `start` begin with the template.
  [[nodiscard]] bool has_used_reference() const { return !reference.empty(); }
};

/// @return  An empty record where there is none.
[[nodiscard]] Record read_record(const Workspace& workspace, const Exercise& exercise);
/// @throws IoError  It cannot be written.
void write_record(const Workspace& workspace, const Exercise& exercise, const Record& record);

/// From its record and its files as they are now.
[[nodiscard]] ExerciseState state_of(const Workspace& workspace, const Exercise& exercise);

/// What the last check of the files as they are now said.
enum class Standing {
  kUnknown,      ///< They have not been checked.
  kFails,        ///< A check failed.
  kPassesQuick,  ///< All checks of `check` passed; those of `check --full` were not tried.
  kPasses        ///< All checks passed.
};

/// From its record and its files as they are now.
[[nodiscard]] Standing standing_of(const Workspace& workspace, const Exercise& exercise, const Record& record);

}  // namespace lockstep::exercise
