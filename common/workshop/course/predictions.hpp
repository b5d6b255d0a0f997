#pragma once
/// @file
/// Questions that a reader answers before seeing a program's output. A question is the summary of a folded block; the
/// line above it says how to find the answer in the output of the first `run` block below:
///
///     <!-- predict id=bytes unit=bytes tolerance=5%: sent (\d+) bytes -->
///     <details><summary>How many bytes does each rank send?</summary>
#include <optional>
#include <string>
#include <vector>

#include "course/lesson_runs.hpp"

namespace lockstep::course {

struct Prediction {
  std::string id;                      ///< Unique in the lesson.
  std::string unit;                    ///< Of the answer; may be empty.
  double tolerance = 0;                ///< Largest accepted error.
  bool is_relative = false;            ///< The tolerance is a share of the value.
  std::string pattern;                 ///< A regular expression whose first group is the value.
  std::string question;                ///< As a terminal shows it.
  std::string explanation;             ///< The rest of the folded block, in Markdown, without blocks; may be empty.
  std::size_t index = 0;               ///< Of the comment's line.
  const FencedBlock* block = nullptr;  ///< Its commands print the value; points into the lesson.
  RunDirective directive;              ///< How to run them.
};

/// The questions of a lesson, in order. They point into `lesson`.
/// @throws FormatError  A comment is malformed, or has no summary or no `run` block below it; names the line.
[[nodiscard]] std::vector<Prediction> predictions_in(const MarkdownFile& lesson);

/// The value on the first line of a program's output that matches the pattern. Commas between thousands are ignored.
[[nodiscard]] std::optional<double> value_in(const Prediction& prediction, const std::vector<std::string>& output);

/// The value as the lesson shows it; `~2.31±0.05` counts as 2.31.
[[nodiscard]] std::optional<double> shown_value(const Prediction& prediction);

/// True if `answer` is within tolerance of `value`, the number that the program printed.
[[nodiscard]] bool is_right(const Prediction& prediction, double answer, double value);

/// Reads a number as people write it, "5,054,992 bytes" or "28.0"; nothing if `text` does not begin with one.
[[nodiscard]] std::optional<double> read_number(std::string text);

}  // namespace lockstep::course
