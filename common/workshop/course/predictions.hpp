#pragma once
/// @file
/// Questions of a lesson that a reader answers before seeing a program's output. A question is the summary of a folded
/// block, and the line above says how its answer is found in the output of the first `run` block below:
///
///     <!-- predict id=bytes unit=bytes tolerance=5%: sent (\d+) bytes -->
///     <details><summary>How many bytes does each rank send?</summary>
#include <optional>
#include <string>
#include <vector>

#include "course/lesson_runs.hpp"

namespace lockstep::course {

/// One question.
struct Prediction {
  std::string id;                      ///< Of its own in the lesson.
  std::string unit;                    ///< Of the answer; may be empty.
  double tolerance = 0;                ///< How far off an answer may be.
  bool is_relative = false;            ///< The tolerance is a share of the value.
  std::string pattern;                 ///< A regular expression whose first group is the value.
  std::string question;                ///< As a terminal shows it.
  std::size_t index = 0;               ///< Of the comment's line.
  const FencedBlock* block = nullptr;  ///< Whose commands print the value; the file's.
  RunDirective directive;              ///< How they run.
};

/// The questions of a lesson, in order. They point into `lesson`.
/// @throws FormatError  A comment is not of that form, has no summary below it, or no `run` block; names the line.
[[nodiscard]] std::vector<Prediction> predictions_in(const MarkdownFile& lesson);

/// The value in a program's output: in the first line that the pattern fits. Commas between thousands are left out.
[[nodiscard]] std::optional<double> value_in(const Prediction& prediction, const std::vector<std::string>& output);

/// The value as the lesson shows it; `~2.31±0.05` counts as 2.31.
[[nodiscard]] std::optional<double> shown_value(const Prediction& prediction);

/// Whether `answer` is right where the program printed `value`.
[[nodiscard]] bool is_right(const Prediction& prediction, double answer, double value);

/// A number as people write it, "5,054,992 bytes" or "28.0"; nothing where `text` begins with none.
[[nodiscard]] std::optional<double> read_number(std::string text);

}  // namespace lockstep::course
