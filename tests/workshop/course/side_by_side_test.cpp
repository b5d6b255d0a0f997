#include "course/side_by_side.hpp"

#include <string>

#include "course/text_file.hpp"
#include "support/catch.hpp"

using namespace lockstep::course;

namespace {

DerivedPair small_pair() {
  return {{"single.cpp", 1, 1},
          {"single.cpp", {"int main() {", "  step();", "}"}},
          {"ddp.cpp",
           {"// DERIVES FROM single.cpp new<=1 changed<=1", "int main() {", "  join();  // NEW",
            "  step(group);  // CHANGED", "}"}}};
}

}  // namespace

TEST_CASE("The listing shows both files line by line with signs and counts", "[course]") {
  CHECK(render_side_by_side(small_pair(), {.width = 70}) ==
        "single.cpp                          ddp.cpp\n"
        "   1 int main() {                      2 int main() {\n"
        "                                  +    3   join();  // NEW\n"
        "   2   step();                    ~    4   step(group);  // CHANGED\n"
        "   3 }                                 5 }\n"
        "\n"
        "ddp.cpp: 1 new (at most 1), 1 changed (at most 1)\n");
}

TEST_CASE("No line of the listing is wider than asked for", "[course]") {
  DerivedPair pair = small_pair();
  pair.base.lines[1] = pair.derived.lines[3] = "  // " + std::string(200, 'x') + "ü";
  for (const int width : {60, 81, 120}) {
    for (const std::string& line : split_lines(render_side_by_side(pair, {.width = width}))) {
      if (line.find("columns wide") == std::string::npos) CHECK(column_count(line) <= static_cast<std::size_t>(width));
    }
  }
}

TEST_CASE("Colours appear only when asked for, and problems are listed", "[course]") {
  DerivedPair pair = small_pair();
  CHECK(render_side_by_side(pair).find('\033') == std::string::npos);
  CHECK(render_side_by_side(pair, {.colours = ColourMode::kAnsi}).find("\033[32m") != std::string::npos);
  pair.derived.lines[1] = "int other() {";
  CHECK(render_side_by_side(pair).find("ddp.cpp:2 differs from single.cpp:1 and has no tag") != std::string::npos);
}
