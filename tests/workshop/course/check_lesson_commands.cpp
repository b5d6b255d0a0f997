// check_lesson_commands ROOT PROGRAMS LESSON: runs the commands shown in one lesson, in a scratch folder that looks
// like the project's root.
#include <unistd.h>

#include <iostream>

#include "lesson_commands.hpp"
#include "support/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

/// Links to the project's files, so that commands do not write to the source tree. `lockstep` is the compiled tool: the
/// script would build first.
void link_project(const fs::path& folder, const fs::path& root, const fs::path& programs) {
  for (const char* name : {"chapters", "common", "docs", "exercises", "solutions", "CMakePresets.json"}) {
    if (fs::exists(root / name)) fs::create_symlink(root / name, folder / name);
  }
  if (fs::exists(programs / "lockstep")) fs::create_symlink(programs / "lockstep", folder / "lockstep");
}

}  // namespace

int main(int argc, char** argv) {
  using namespace lockstep::checks;
  if (argc != 4) {
    std::cerr << "usage: check_lesson_commands ROOT PROGRAMS LESSON\n";
    return 2;
  }
  try {
    const fs::path root = argv[1], programs = argv[2];
    const lockstep::test::TemporaryFolder folder;
    link_project(folder.path(), root, programs);
    const Problems problems =
        check_commands(lockstep::course::parse_markdown(read_project_file(root, argv[3])), folder.path(), programs);
    for (const std::string& problem : problems) std::cout << problem << '\n';
    return problems.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "check_lesson_commands: " << error.what() << '\n';
    return 1;
  }
}
