#include "course/derived_file.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep::course;
using lockstep::FormatError;

namespace {

const TextFile kBase{"single.cpp",
                     {
                         "#include <iostream>",
                         "",
                         "int main() {",
                         "  Model model(seed);",
                         "  for (int step = 0; step < 10; ++step) {",
                         "    model.step();",
                         "  }",
                         "  save(model);",
                         "}",
                     }};

Alignment align(const std::vector<std::string>& lines, DerivedHeader header = {"single.cpp", 10, 10},
                const TextFile& base = kBase) {
  TextFile derived{"ddp.cpp", {"// DERIVES FROM single.cpp new<=10 changed<=10"}};
  derived.lines.insert(derived.lines.end(), lines.begin(), lines.end());
  return align_derived_file(base, derived, header);
}

std::vector<std::string> good() {
  return {
      "#include <iostream>",
      "#include \"ddp.hpp\"  // NEW",
      "",
      "int main() {",
      "  // NEW: the ranks find one another.",
      "  Group group = join();  // NEW",
      "  Model model(seed);",
      "  for (int step = 0; step < 10; ++step) {",
      "    // CHANGED: gradients are averaged in between.",
      "    model.step(group);  // CHANGED",
      "  }",
      "  // GONE: save(model);",
      "}",
  };
}

}  // namespace

TEST_CASE("A derived file that differs only on tagged lines passes and is counted", "[course]") {
  const Alignment alignment = align(good());
  CHECK(alignment.problems.empty());
  CHECK(alignment.new_count == 4);
  CHECK(alignment.changed_count == 2);
}

TEST_CASE("White space is ignored: indentation, runs of blanks, empty lines", "[course]") {
  std::vector<std::string> lines = good();
  lines[6] = "      Model   model(seed);";
  lines.erase(lines.begin() + 2);
  lines.insert(lines.begin() + 8, "");
  lines.emplace_back("");
  CHECK(align(lines).problems.empty());
}

TEST_CASE("An untagged difference is reported with both places and ends the walk", "[course]") {
  std::vector<std::string> lines = good();
  lines[6] = "  Model model(seed + 1);";
  const Alignment alignment = align(lines);
  REQUIRE(alignment.problems.size() == 1);
  CHECK(alignment.problems[0] == "ddp.cpp:8 differs from single.cpp:4 and has no tag");
}

TEST_CASE("An untagged difference in a comment counts too", "[course]") {
  const TextFile base{"single.cpp", {"// One device.", "int x;"}};
  CHECK(align({"// Many devices.", "int x;"}, {"single.cpp", 1, 1}, base).problems ==
        std::vector<std::string>{"ddp.cpp:2 differs from single.cpp:1 and has no tag"});
}

TEST_CASE("A CHANGED line that equals its base line is rejected", "[course]") {
  std::vector<std::string> lines = good();
  lines[9] = "    model.step();  // CHANGED";
  CHECK(align(lines).problems == std::vector<std::string>{"ddp.cpp:11 is tagged CHANGED but equals single.cpp:6"});
}

TEST_CASE("A GONE line must be the next base line", "[course]") {
  std::vector<std::string> lines = good();
  lines[11] = "  // GONE: save(other);";
  CHECK(align(lines).problems ==
        std::vector<std::string>{"ddp.cpp:13 is tagged GONE but is not the next line of the base, single.cpp:8"});
}

TEST_CASE("Both files must be used up", "[course]") {
  std::vector<std::string> shorter = good();
  shorter.pop_back();
  CHECK(align(shorter).problems ==
        std::vector<std::string>{"ddp.cpp ends before single.cpp:9, which is neither kept nor marked GONE"});
  std::vector<std::string> longer = good();
  longer.emplace_back("int unused;");
  CHECK(align(longer).problems ==
        std::vector<std::string>{"ddp.cpp:15 stands after the end of single.cpp and is not tagged NEW"});
}

TEST_CASE("Counts over the header's budget are rejected", "[course]") {
  CHECK(align(good(), {"single.cpp", 3, 1}).problems ==
        std::vector<std::string>{"ddp.cpp has 4 new lines; its header allows 3",
                                 "ddp.cpp has 2 changed lines; its header allows 1"});
}

TEST_CASE("Lines over the width limits are rejected", "[course]") {
  const TextFile base{"single.cpp", {"int " + std::string(77, 'x') + ";"}};
  const std::string wide_new = "int " + std::string(90, 'y') + ";  // NEW";
  CHECK(align({base.lines[0], wide_new}, {"single.cpp", 1, 0}, base).problems ==
        std::vector<std::string>{"single.cpp:1 is 82 columns wide; a line of a base has at most 80",
                                 "ddp.cpp:3 is 103 columns wide; a line of a derived file has at most 100"});
}

TEST_CASE("A base that is itself derived is read without its own tags", "[course]") {
  TextFile base{"ddp.cpp", {"// DERIVES FROM single.cpp new<=10 changed<=10"}};
  for (const std::string& line : good()) base.lines.push_back(line);
  TextFile derived{"elastic.cpp",
                   {"// DERIVES FROM ddp.cpp new<=1 changed<=0", "#include <iostream>", "#include \"ddp.hpp\"",
                    "int main() {", "  Group group = join();", "  restart();  // NEW", "  Model model(seed);",
                    "  for (int step = 0; step < 10; ++step) {", "    model.step(group);", "  }", "}"}};
  const Alignment alignment = align_derived_file(base, derived, {"ddp.cpp", 1, 0});
  CHECK(alignment.problems.empty());
  CHECK(alignment.new_count == 1);
}

TEST_CASE("The header is read, and a broken one is refused", "[course]") {
  const auto header = parse_derived_header("// DERIVES FROM chapters/05_x/programs/a.cpp new<=14 changed<=6");
  REQUIRE(header.has_value());
  CHECK(header->base_path == "chapters/05_x/programs/a.cpp");
  CHECK(header->new_budget == 14);
  CHECK(header->changed_budget == 6);
  CHECK_FALSE(parse_derived_header("#include <vector>").has_value());
  CHECK_THROWS_AS(parse_derived_header("// DERIVES FROM a.cpp new=14"), FormatError);
}

TEST_CASE("Every derived file of the project keeps the rules", "[course][repository]") {
  const std::filesystem::path root = LOCKSTEP_SOURCE_DIR;
  for (const char* folder : {"chapters", "common", "exercises", "tests"}) {
    if (!std::filesystem::exists(root / folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".cu") continue;
      const auto pair = load_derived_pair(root, std::filesystem::relative(entry.path(), root));
      if (!pair) continue;
      const Alignment alignment = align_derived_file(pair->base, pair->derived, pair->header);
      for (const std::string& problem : alignment.problems) FAIL_CHECK(problem);
    }
  }
}
