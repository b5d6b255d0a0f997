#include "exercise_tool/predict_lesson.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "course/predictions.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

// Names of all chapter programs and of the tool.
std::set<std::string> known_programs(const fs::path& root) {
  std::set<std::string> names = {"lockstep"};
  for (const auto& chapter : fs::directory_iterator(root / "chapters")) {
    std::error_code none;  // the chapter has no programs
    for (const auto& program : fs::directory_iterator(chapter.path() / "programs", none)) {
      const std::string extension = program.path().extension();
      if (extension == ".cpp" || extension == ".cu") names.insert(program.path().stem());
    }
  }
  return names;
}

}  // namespace

LessonOfChapter open_lesson(const std::string& chapter) {
  LessonOfChapter lesson{open_workspace(), chapter.size() == 1 ? "0" + chapter : chapter.substr(0, 2), {}, {}};
  for (const auto& folder : fs::directory_iterator(lesson.workspace.root / "chapters")) {
    const std::string name = folder.path().filename();
    if (name != chapter && name.substr(0, 2) != lesson.number) continue;
    lesson.path = folder.path() / "README.md";
    lesson.text = course::parse_markdown(course::read_text_file(lesson.path, lesson.workspace.shown(lesson.path)));
    return lesson;
  }
  throw UsageError(concat("there is no chapter ", chapter));
}

std::vector<std::string> programs_of_questions(const LessonOfChapter& lesson) {
  const std::set<std::string> known = known_programs(lesson.workspace.root);
  std::set<std::string> named;
  for (const course::Prediction& question : course::predictions_in(lesson.text)) {
    for (const course::ShownCommand& shown : course::shown_commands(*question.block, question.directive)) {
      std::istringstream words(shown.command);
      for (std::string word; words >> word;) {
        if (word.starts_with("./")) word.erase(0, 2);  // ./lockstep
        if (known.contains(word)) named.insert(word);
      }
    }
  }
  return {named.begin(), named.end()};
}

std::string right_of_all(const nlohmann::json& record) {
  int right = 0;
  for (const auto& [id, entry] : record.items()) right += entry.at("is_right").get<bool>() ? 1 : 0;
  return concat(right, " of ", record.size(), " right");
}

std::string prediction_list(const fs::path& root) {
  std::map<std::string, std::string> lines;
  std::error_code none;  // no question was asked yet
  for (const auto& file : fs::directory_iterator(root / ".lockstep" / "predictions", none)) {
    if (file.path().extension() != ".json") continue;  // one that is being written
    const std::string chapter = file.path().stem();
    try {
      lines[chapter] = concat("  ", chapter, "  ", right_of_all(parse_json(read_file(file.path()))), "\n");
    } catch (const nlohmann::json::exception&) {  // from another version, or truncated
    }
  }
  std::string text;
  for (const auto& [chapter, line] : lines) text += line;
  return text;
}

}  // namespace lockstep::exercise
