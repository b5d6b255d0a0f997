#pragma once
/// @file
/// Builds, judges and grades one exercise of one submission.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "exercise_tool/workspace.hpp"
#include "grading/archive.hpp"
#include "grading/grade.hpp"
#include "grading/sandbox.hpp"
#include "grading/sandboxed_build.hpp"
#include "grading/settings.hpp"

namespace lockstep::grading {

/// How to try a program.
struct Trying {
  const exercise::Workspace& workspace;  ///< The grader's tree.
  const exercise::Exercise& exercise;    ///< Its judge is used.
  std::uint64_t seed = 1;                ///< For inputs.
  double patience = 1;                   ///< Multiplies all wall-clock limits.
  const Sandbox* sandbox = nullptr;      ///< Null: none, for our own programs.
  std::vector<Mount> mounts = {};        ///< Visible in the sandbox besides the system: the program, its libraries.
  std::vector<std::filesystem::path> sources = {};  ///< The student's files; verdicts quote their lines.
  std::string mistake = {};                         ///< For the bank's program.
  bool is_named = false;                            ///< Compare a failure with the bank of mistakes.

  /// Adds mounts for a program and its libraries, and its sources for quotations.
  void use(const SubmittedProgram& built);
};

/// A judge's report on a program.
struct JudgeReport {
  nlohmann::json report;              ///< Null if the judge failed.
  std::string setup;                  ///< The reason for a missing report; otherwise empty.
  bool used_too_much_memory = false;  ///< Processes were killed because all together were too large.
};

/// Runs all checks of an exercise's judge. @pre adopt_orphans(); the judge is built.
[[nodiscard]] JudgeReport judge_program(const std::filesystem::path& program, const Trying& trying);

/// The grade of one exercise. No submission can make it throw.
/// @param files  Of the submission. @param scratch  An empty folder. @pre adopt_orphans().
[[nodiscard]] ExerciseGrade grade_exercise(const exercise::Workspace& workspace, const exercise::Exercise& exercise,
                                           const Files& files, const Settings& settings, const Sandbox& sandbox,
                                           const std::filesystem::path& scratch);

/// Computes the grade from a judge's reports.
/// @param own     With the public inputs; may be null if `secret` passes everything.
/// @param secret  With secret inputs, which decide the points; null: `own` decides.
/// @param given   Names of checks that the template passes.
[[nodiscard]] ExerciseGrade grade_from(const exercise::Exercise& exercise, const nlohmann::json& own,
                                       const nlohmann::json& secret, const std::set<std::string>& given);

}  // namespace lockstep::grading
