// compare: shows the learner's file next to ours after it has passed.
#include <iostream>

#include "base/error.hpp"
#include "exercise_tool/command.hpp"
#include "exercise_tool/records.hpp"
#include "exercise_tool/shell.hpp"
#include "exercise_tool/workspace.hpp"

namespace lockstep::exercise {

int compare(const Arguments& arguments) {
  const Workspace workspace = open_workspace();
  const Exercise& exercise = workspace.chosen(arguments);
  if (!workspace.has_solution(exercise)) throw UnavailableError("this copy of the course has no solutions");
  if (state_of(workspace, exercise) != ExerciseState::kPassed)
    throw UsageError(concat("yours first: ./lockstep check ", exercise.id, "  (use-reference shows ours without it)"));
  for (const std::string& file : exercise.files) {
    const auto yours = workspace.work(exercise) / file, ours = exercise.in(workspace.root / "solutions") / file;
    std::cout << run({"diff", "--unified=3", "--label", "yours: " + workspace.shown(yours), "--label",
                      "ours: " + workspace.shown(ours), yours.string(), ours.string()},
                     workspace.root, Collect::kOutput)
                     .output;
  }
  return 0;
}

}  // namespace lockstep::exercise
