// The lesson's table of three programs shows code that is in them.
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "support/catch.hpp"

using namespace lockstep;

namespace {

const std::filesystem::path kChapters = LOCKSTEP_CHAPTERS;

// Without white space, so that a line break in a program does not matter.
std::string squeezed(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t begin = 1, end = 0; (end = line.find('|', begin)) != std::string::npos; begin = end + 1)
    cells.push_back(line.substr(begin, end - begin));
  return cells;
}

std::string code_in(const std::string& cell) {
  const std::size_t begin = cell.find('`'), end = cell.rfind('`');
  return begin == end ? "" : cell.substr(begin + 1, end - begin - 1);
}

}  // namespace

TEST_CASE("each line that the lesson shows of three programs is in its program", "[accelerate][lesson]") {
  const std::vector<std::string> programs{
      squeezed(read_file(kChapters / "05_gpt_single_device/programs/train_gpt_single.cpp")),
      squeezed(read_file(kChapters / "06_gpt_ddp/programs/train_gpt_ddp.cpp")),
      squeezed(read_file(kChapters / "08_accelerate/programs/train_gpt_accelerate.cpp"))};
  const std::string lesson = read_file(kChapters / "08_accelerate/README.md");
  std::size_t line = lesson.find("|---|---|---|---|\n", lesson.find("| | `train_gpt_single`"));
  REQUIRE(line != std::string::npos);
  int rows = 0;
  for (line = lesson.find('\n', line) + 1; lesson[line] == '|'; line = lesson.find('\n', line) + 1, ++rows) {
    const auto cells = cells_of(lesson.substr(line, lesson.find('\n', line) - line));
    REQUIRE(cells.size() == 4);
    for (std::size_t program = 0; program < programs.size(); ++program) {
      INFO(cells[0] << cells[program + 1]);
      CHECK(programs[program].find(squeezed(code_in(cells[program + 1]))) != std::string::npos);
    }
  }
  CHECK(rows > 10);
}
