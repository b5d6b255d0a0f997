// author: what those who write exercises need.
#include <iostream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "exercise/template.hpp"
#include "exercise_tool/command.hpp"
#include "exercise_tool/workspace.hpp"

namespace lockstep::exercise {

int author(const Arguments& arguments) {
  if (arguments != Arguments{"templates"})
    throw UsageError(
        "./lockstep author templates  writes the template of every solution; docs/CONTRIBUTING.md says more");
  const Workspace workspace = open_workspace();
  for (const Exercise& exercise : workspace.catalogue) {
    for (const std::string& file : exercise.files) {
      const auto path = exercise.in(workspace.root / "exercises") / file;
      const std::string text = make_template(read_file(exercise.in(workspace.root / "solutions") / file), exercise);
      if (std::filesystem::exists(path) && read_file(path) == text) continue;
      write_file(path, text);
      std::cout << "wrote " << workspace.shown(path) << "\n";
    }
  }
  return 0;
}

}  // namespace lockstep::exercise
