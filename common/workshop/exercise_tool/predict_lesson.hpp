#pragma once
/// @file
/// A chapter's lesson with its questions.
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "course/markdown.hpp"
#include "exercise_tool/workspace.hpp"

namespace lockstep::exercise {

struct LessonOfChapter {
  Workspace workspace;
  std::string number;          ///< "02"
  std::filesystem::path path;  ///< Of its README.md.
  course::MarkdownFile text;
};

/// @param chapter  "2", "02" or "02_ring_all_reduce". @throws UsageError  No such chapter.
[[nodiscard]] LessonOfChapter open_lesson(const std::string& chapter);

/// The chapter programs that the questions' commands name; build them before asking.
[[nodiscard]] std::vector<std::string> programs_of_questions(const LessonOfChapter& lesson);

/// "2 of 3 right", from the record of a chapter that `predict` keeps.
[[nodiscard]] std::string right_of_all(const nlohmann::json& record);

/// One line per chapter with answered questions: "  02  2 of 3 right". @param root  The project's root.
[[nodiscard]] std::string prediction_list(const std::filesystem::path& root);

}  // namespace lockstep::exercise
