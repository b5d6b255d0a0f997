#pragma once
/// @file
/// Checks that no lesson shows the answer of an exercise to a reader who has not done it. The answers are those that
/// releases for students omit: the solutions, and "gives_away" of each exercise.json (docs/release.md).
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "course/markdown.hpp"
#include "project_files.hpp"

namespace lockstep::checks {

/// A function that answers an exercise.
struct AnswerFunction {
  std::string exercise;            ///< "02.1"
  std::string name;                ///< "reduce_scatter"
  std::string path;                ///< Of its source, relative to the root.
  std::vector<std::string> lines;  ///< Of its body, without blanks, comments, and lines that tell nothing.
};

/// The answers of all exercises: the functions around the regions of a solution, functions of the same name in the
/// sources that give the exercise away, and those that "gives_away" names: "path#function".
struct LessonAnswers {
  std::vector<AnswerFunction> functions;
  Problems problems;  ///< Entries "path#function" whose file has no such function.
};

/// @param root  Of the project. @throws FormatError, IoError  An exercise.json is invalid, or a source is missing.
[[nodiscard]] LessonAnswers read_answers(const std::filesystem::path& root);

/// Blocks of C++ that show an answer's lines, all or three and half of them, outside of `<details>` below `<!-- after
/// 02.1 -->`, and such comments that are followed by something else or name no exercise. Lessons of later chapters than
/// the exercise's may show it.
/// @param lesson  chapters/NN_name/README.md
[[nodiscard]] Problems check_lesson_answers(const course::MarkdownFile& lesson,
                                            const std::vector<AnswerFunction>& answers);

/// The same for all lessons, and LessonAnswers::problems.
[[nodiscard]] Problems check_lesson_answers(const std::filesystem::path& root);

}  // namespace lockstep::checks
