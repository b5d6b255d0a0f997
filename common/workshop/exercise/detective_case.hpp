#pragma once
/// @file
/// Cases for detectives: programs with one fault each. A learner sees the symptoms that an engineer would see, and
/// names the cause and the line. A chapter's cases are in exercises/CHAPTER/cases/: cases.json has the questions;
/// spoilers/06.A.patch turns the right program into that of case 06.A, names the cause and explains it.
#include <filesystem>
#include <string>
#include <vector>

#include "exercise/patch.hpp"

namespace lockstep::exercise {

/// A possible cause. All cases of a chapter share one list, so that it gives nothing away.
struct Cause {
  std::string name;  ///< As typed in an answer: "seed".
  std::string text;  ///< "the ranks begin with different weights"
};

/// One case, without its answer.
struct DetectiveCase {
  std::string id;                     ///< "06.A"; never changes.
  std::string chapter;                ///< "06_gpt_ddp"
  std::string title;                  ///< "The curve that comes again"
  std::string difficulty;             ///< easy, medium or hard.
  std::vector<std::string> story;     ///< The symptoms, in paragraphs.
  std::string file;                   ///< The right program's source, relative to the project's root.
  std::vector<std::string> programs;  ///< Other programs used by the commands.
  std::vector<std::string> commands;  ///< For a shell in the project's root; they show the symptoms.
  std::vector<std::string> losses;    ///< Two folders of runs below the root for the plot of losses: the case's, ours.
  std::vector<std::string> evidence;  ///< One more piece is shown after each wrong answer.
  std::vector<Cause> causes;          ///< The chapter's causes, from which a learner chooses.

  /// "case_06_a", the name of its program.
  [[nodiscard]] std::string program_name() const;
  /// Of its source: ".cpp", or ".cu" for a kernel that `lockstep emulate` compiles.
  [[nodiscard]] std::string extension() const;
};

/// The answer to a case.
struct Spoiler {
  std::string cause;               ///< Name of one of the case's causes.
  std::vector<std::size_t> lines;  ///< The faulty lines in the right program's file, counted from 1.
  std::string explanation;         ///< Shown after the case is solved.
  Patch patch;                     ///< Turns the right program into the case's.
};

/// A learner's answer.
struct CaseAnswer {
  std::string cause;     ///< Name of a cause.
  std::size_t line = 0;  ///< In the right program's file.
};

/// The result of an answer.
enum class CaseVerdict { kSolved, kOtherLine, kOtherCause };

/// Largest accepted distance from the right line.
inline constexpr std::size_t kLineTolerance = 2;

/// All cases in the order of their ids. @param root  The project's root.
/// @throws FormatError  A cases.json is invalid; names it.
[[nodiscard]] std::vector<DetectiveCase> read_cases(const std::filesystem::path& root);

/// The case that a user means: "06.A", "6.a" or "06a". @throws UsageError  No such case; says how to list them.
[[nodiscard]] const DetectiveCase& find_case(const std::vector<DetectiveCase>& cases, const std::string& word);

/// Reads a case's patch. Its head is `Cause: name`, then one or more `Line: text`, with a text that occurs in exactly
/// one line of the right program, then the explanation.
/// @throws FormatError  It is malformed; names the case.
[[nodiscard]] Spoiler read_spoiler(const std::filesystem::path& root, const DetectiveCase& detective_case);

/// The source of a case's program. It has the right program's line numbers.
/// @throws FormatError  See read_spoiler(); also if the patch does not apply or moves lines.
[[nodiscard]] std::string source_of(const std::filesystem::path& root, const DetectiveCase& detective_case);

/// Compares an answer with the spoiler. The line counts only if the cause is right.
[[nodiscard]] CaseVerdict judge_answer(const Spoiler& spoiler, const CaseAnswer& answer);

}  // namespace lockstep::exercise
