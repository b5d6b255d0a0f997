// Corrects the lessons: line numbers of excerpts after code has moved, and numbers after new measurements.
#include <fstream>
#include <iostream>

#include "lessons.hpp"

int main(int argc, char** argv) {
  using namespace lockstep::checks;
  const std::filesystem::path root = argc > 1 ? argv[1] : LOCKSTEP_SOURCE_DIR;
  try {
    for (const std::string& path : select_files(project_files(root), "", {".md"})) {
      const lockstep::course::MarkdownFile file = lockstep::course::parse_markdown(read_project_file(root, path));
      const std::vector<std::string> lines = with_updates(root, file);
      if (lines == file.text.lines) continue;
      std::ofstream out(root / path);
      for (const std::string& line : lines) out << line << '\n';
      std::cout << "updated " << path << '\n';
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "update_lessons: " << error.what() << '\n';
    return 1;
  }
}
