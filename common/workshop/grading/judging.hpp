#pragma once
/// @file
/// One exercise of one submission: built, tried by the judge, and graded.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "exercise_tool/workspace.hpp"
#include "grading/archive.hpp"
#include "grading/grade.hpp"
#include "grading/sandbox.hpp"
#include "grading/sandboxed_build.hpp"
#include "grading/settings.hpp"

namespace lockstep::grading {

/// What a program is tried with.
struct Trying {
  const exercise::Workspace& workspace;  ///< The grader's tree.
  const exercise::Exercise& exercise;    ///< Whose judge tries it.
  std::uint64_t seed = 1;                ///< For inputs.
  double patience = 1;                   ///< Limits on wall time are so many times longer.
  const Sandbox* sandbox = nullptr;      ///< Null: none, for programs of our own.
  std::vector<Mount> mounts = {};        ///< What the sandbox shows beside the system: the program, its libraries.
  std::vector<std::filesystem::path> sources = {};  ///< The student's files, of which verdicts quote lines.
  std::string mistake = {};                         ///< Of the bank's program.
  bool is_named = false;                            ///< Whether a failure is compared with the bank of mistakes.

  /// Shows the sandbox a program and its libraries, and quotes its sources.
  void use(const SubmittedProgram& built);
};

/// What the judge says of a program.
struct JudgeReport {
  nlohmann::json report;              ///< The judge's; null where it failed.
  std::string setup;                  ///< Why there is none; empty: there is one.
  bool used_too_much_memory = false;  ///< Processes were ended because all together were too large.
};

/// Runs all checks of an exercise's judge. @pre adopt_orphans(); the judge is built.
[[nodiscard]] JudgeReport judge_program(const std::filesystem::path& program, const Trying& trying);

/// The grade of one exercise. Does not throw for anything that a submission holds.
/// @param files    Of the submission. @param scratch  An empty folder. @pre adopt_orphans().
[[nodiscard]] ExerciseGrade grade_exercise(const exercise::Workspace& workspace, const exercise::Exercise& exercise,
                                           const Files& files, const Settings& settings, const Sandbox& sandbox,
                                           const std::filesystem::path& scratch);

/// The grade that a judge's reports mean.
/// @param own     With the inputs that everybody may see; may be null where `secret` passes everything.
/// @param secret  With secret inputs, which give the points; null: there are none, and `own` gives them.
/// @param given   Names of checks that the template passes.
[[nodiscard]] ExerciseGrade grade_from(const exercise::Exercise& exercise, const nlohmann::json& own,
                                       const nlohmann::json& secret, const std::set<std::string>& given);

}  // namespace lockstep::grading
