#include "exercise_tool/skeleton.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/replace.hpp"
#include "exercise/template.hpp"

namespace lockstep::exercise {
namespace {

std::string filled(std::string text, const std::map<std::string, std::string>& values) {
  for (const auto& [mark, value] : values) text = replaced(std::move(text), mark, value);
  return text;
}

}  // namespace

std::map<std::string, std::string> skeleton_of(const std::filesystem::path& root, const Exercise& exercise) {
  const std::string folder = concat(exercise.chapter, "/", exercise.name);
  const std::string name = exercise.name.substr(exercise.name.find('_') + 1);
  const std::map<std::string, std::string> values = {{"@ID@", exercise.id},
                                                     {"@NUMBER@", exercise.target_name()},
                                                     {"@FOLDER@", folder},
                                                     {"@NAME@", name},
                                                     {"@TITLE@", exercise.title}};
  const auto text = [&](const std::string& file) {
    return filled(read_file(root / "common" / "workshop" / "exercise_tool" / "skeleton" / (file + ".in")), values);
  };
  const std::string given = concat("exercises/", folder, "/"), tests = concat("tests/exercises/", folder, "/");
  return {{given + "exercise.json", text("exercise.json")},
          {given + "TASK.md", text("TASK.md")},
          {given + "hints.md", text("hints.md")},
          {given + name + ".hpp", text("header.hpp")},
          {given + name + ".cpp", make_template(text("solution.cpp"), exercise)},
          {concat("solutions/", folder, "/", name, ".cpp"), text("solution.cpp")},
          {tests + "subject.cpp", text("subject.cpp")},
          {tests + "judge.cpp", text("judge.cpp")},
          {tests + "mistakes.cpp", text("mistakes.cpp")},
          {tests + "alternatives.cpp", text("alternatives.cpp")}};
}

}  // namespace lockstep::exercise
