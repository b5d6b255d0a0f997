#pragma once
/// @file
/// Cases for detectives: programs with one thing wrong in each. A learner sees what an engineer would see, and names
/// the cause and the line. On disk a chapter's cases are exercises/CHAPTER/cases/: cases.json asks, and
/// spoilers/06.A.patch makes the program of case 06.A from the right one, says which cause that is, and explains it.
#include <filesystem>
#include <string>
#include <vector>

#include "exercise/patch.hpp"

namespace lockstep::exercise {

/// What may be wrong. The cases of a chapter share one list, so that it gives nothing away.
struct Cause {
  std::string name;  ///< As an answer spells it: "seed".
  std::string text;  ///< "the ranks begin with different weights"
};

/// One case, without its answer.
struct DetectiveCase {
  std::string id;                     ///< "06.A"; never changes.
  std::string chapter;                ///< "06_gpt_ddp"
  std::string title;                  ///< "The curve that comes again"
  std::string difficulty;             ///< easy, medium or hard.
  std::vector<std::string> story;     ///< What happened, in paragraphs.
  std::string file;                   ///< The right program's source, below the project's root.
  std::vector<std::string> programs;  ///< That the commands need, besides the case's own.
  std::vector<std::string> commands;  ///< For a shell in the project's root; they show what is wrong.
  std::vector<std::string> losses;    ///< Two folders of runs below the root whose losses are shown: the case's, ours.
  std::vector<std::string> evidence;  ///< After each wrong answer, one more piece.
  std::vector<Cause> causes;          ///< That a learner chooses from: those of the chapter.

  /// "case_06_a": its program.
  [[nodiscard]] std::string program_name() const;
  /// Of its source: ".cpp", or ".cu" for a kernel that `lockstep emulate` compiles.
  [[nodiscard]] std::string extension() const;
};

/// What is wrong in a case.
struct Spoiler {
  std::string cause;               ///< The name of one of the case's causes.
  std::vector<std::size_t> lines;  ///< Of the right program's file, counted from 1: each is where it belongs.
  std::string explanation;         ///< For those who have found it.
  Patch patch;                     ///< Makes the case's program of the right one.
};

/// What a learner believes.
struct CaseAnswer {
  std::string cause;     ///< Its name.
  std::size_t line = 0;  ///< In the right program's file.
};

/// How an answer is.
enum class CaseVerdict { kSolved, kOtherLine, kOtherCause };

/// How far from the right line an answer may be.
inline constexpr std::size_t kLineTolerance = 2;

/// All cases in the order of their ids. @param root  The project's.
/// @throws FormatError  A cases.json is not as it must be; names it.
[[nodiscard]] std::vector<DetectiveCase> read_cases(const std::filesystem::path& root);

/// The case that a user means: "06.A", "6.a" or "06a". @throws UsageError  There is none; lists those there are.
[[nodiscard]] const DetectiveCase& find_case(const std::vector<DetectiveCase>& cases, const std::string& word);

/// Head and change of a case's patch. Its head is `Cause: name`, then one or more `Line: text`, where the text is part
/// of exactly one line of the right program, then the explanation.
/// @throws FormatError  It is not as it must be; names the case.
[[nodiscard]] Spoiler read_spoiler(const std::filesystem::path& root, const DetectiveCase& detective_case);

/// The source of a case's program. It has the right program's line numbers.
/// @throws FormatError  As read_spoiler(); or the patch does not apply or moves lines.
[[nodiscard]] std::string source_of(const std::filesystem::path& root, const DetectiveCase& detective_case);

/// Compares an answer with what is wrong. Without the right cause the line does not count.
[[nodiscard]] CaseVerdict judge_answer(const Spoiler& spoiler, const CaseAnswer& answer);

}  // namespace lockstep::exercise
