#pragma once
/// @file
/// The lesson whose questions are asked.
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "course/markdown.hpp"
#include "exercise_tool/workspace.hpp"

namespace lockstep::exercise {

/// A chapter's lesson.
struct LessonOfChapter {
  Workspace workspace;
  std::string number;          ///< "02"
  std::filesystem::path path;  ///< Of its README.md.
  course::MarkdownFile text;
};

/// @param chapter  "2", "02" or "02_ring_all_reduce". @throws UsageError  There is none.
[[nodiscard]] LessonOfChapter open_lesson(const std::string& chapter);

/// The programs of chapters that the commands of its questions name: what has to be built before they are asked.
[[nodiscard]] std::vector<std::string> programs_of_questions(const LessonOfChapter& lesson);

/// "2 of 3 right", of what `predict` remembers of a chapter.
[[nodiscard]] std::string right_of_all(const nlohmann::json& record);

/// One line per chapter whose questions have been asked: "  02  2 of 3 right". @param root  The project's.
[[nodiscard]] std::string prediction_list(const std::filesystem::path& root);

}  // namespace lockstep::exercise
