// Where the first kernels' threads write, against division and remainder.
#include <sstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;

namespace {

// The lines of `text` after the one that begins with `heading`.
std::vector<std::string> lines_after(const std::string& text, const std::string& heading, int count) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(stream, line) && !line.starts_with(heading)) {
  }
  while (count-- > 0 && std::getline(stream, line)) lines.push_back(line);
  return lines;
}

// "block  " and ten numbers, as the program sets them.
std::string row_of(std::string text, int (*number_of)(int element)) {
  for (int element = 0; element < 10; ++element) text += concat("  ", number_of(element));
  return text;
}

}  // namespace

TEST_CASE("Threads of the first kernels write the elements that the lesson says", "[kernels][chapter]") {
  static_cast<void>(test::accelerator());
  const test::Finished run = test::run_program({test::built_program("first_kernels")});
  REQUIRE(run.exit_code == 0);
  const auto remainder = [](int element) { return element % 4; };
  const auto one_each = lines_after(run.out, "one_each", 3), in_turns = lines_after(run.out, "in_turns", 3);
  REQUIRE(one_each.size() == 3);
  REQUIRE(in_turns.size() == 3);
  CHECK(one_each[1] == row_of("block  ", [](int element) { return element / 4; }));
  CHECK(one_each[2] == row_of("thread ", remainder));
  CHECK(in_turns[1] == row_of("block  ", [](int) { return 0; }));
  CHECK(in_turns[2] == row_of("thread ", remainder));
  const auto in_tiles = lines_after(run.out, "(block x,y)/(thread x,y)", 3);
  REQUIRE(in_tiles.size() == 3);
  for (int row = 0; row < 3; ++row) {
    std::string expected;
    for (int column = 0; column < 4; ++column) {
      expected += concat(column == 0 ? "" : "  ", "(", column / 2, ",", row / 2, ")/(", column % 2, ",", row % 2, ")");
    }
    CHECK(in_tiles[row] == expected);
  }
}
