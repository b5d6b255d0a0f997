#pragma once
/// @file
/// An exercise's state between commands, in .lockstep/exercises/ID.json: the last verdict, the hints seen, the files
/// that have passed. Grading ignores it.
#include <nlohmann/json.hpp>
#include <string>

#include "exercise_tool/workspace.hpp"

namespace lockstep::exercise {

/// A learner's progress in an exercise.
enum class ExerciseState {
  kUntouched,
  kStarted,
  kPassed,    ///< The current files have passed.
  kChanged,   ///< An earlier version of the files has passed.
  kReference  ///< The files are ours (use-reference).
};

struct Record {
  int hints_seen = 0;
  std::string passed;     ///< Fingerprint of the files that passed last; empty: none.
  std::string reference;  ///< Fingerprint of our files, if use-reference has copied them here.
  nlohmann::json last;    ///< The judge's last report; null: not checked yet.

  /// True if the current files began as ours. `reset` and a new `start` begin with the template.
  [[nodiscard]] bool has_used_reference() const { return !reference.empty(); }
};

/// @return  An empty record if there is none.
[[nodiscard]] Record read_record(const Workspace& workspace, const Exercise& exercise);
/// @throws IoError  It cannot be written.
void write_record(const Workspace& workspace, const Exercise& exercise, const Record& record);

/// From the record and the current files.
[[nodiscard]] ExerciseState state_of(const Workspace& workspace, const Exercise& exercise);

/// The last check's result for the current files.
enum class Standing {
  kUnknown,      ///< Not checked.
  kFails,        ///< A check failed.
  kPassesQuick,  ///< All checks of `check` passed; those of `check --full` were not run.
  kPasses        ///< All checks passed.
};

/// From the record and the current files.
[[nodiscard]] Standing standing_of(const Workspace& workspace, const Exercise& exercise, const Record& record);

}  // namespace lockstep::exercise
