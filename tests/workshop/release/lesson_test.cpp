#include "release/lesson.hpp"

#include "support/catch.hpp"

using namespace lockstep::release;

namespace {

Plan small_plan() {
  lockstep::exercise::Exercise first, second;
  first.id = "02.1", first.chapter = "02_ring", first.name = "1_reduce";
  second.id = "02.2", second.chapter = "02_ring", second.name = "2_gather";
  Plan plan;
  plan.exercises = {first, second};
  plan.giveaways["chapters/02_ring/ring.cpp"] = {"02.1", "02.2"};
  plan.files = {"chapters/02_ring/README.md", "chapters/02_ring/send.cpp", "docs/glossary.md"};
  return plan;
}

std::string rewritten(const std::string& text) {
  return rewrite_lesson("chapters/02_ring/README.md", text, small_plan());
}

}  // namespace

TEST_CASE("An excerpt of a file that is left out becomes a sentence", "[release]") {
  CHECK(rewritten("before\n\n[ring.cpp, lines 4 to 5](ring.cpp#L4-L5)\n```cpp\nanswer();\n```\n\nafter\n") ==
        "before\n\n*This code is what you write in exercises [02.1](../../exercises/02_ring/1_reduce/TASK.md) and "
        "[02.2](../../exercises/02_ring/2_gather/TASK.md).*\n\nafter\n");
}

TEST_CASE("Links to what a release lacks become text, and all else stays", "[release]") {
  CHECK(rewritten("see [ring.cpp](ring.cpp), [a test](../../tests/x_test.cpp) and [send](send.cpp#L1)\n") ==
        "see ring.cpp, a test and [send](send.cpp#L1)\n");
  CHECK(rewritten("a [test\nof it](../../tests/x_test.cpp), a [list\nof\nwords](../../docs/glossary.md), x[i\n") ==
        "a test\nof it, a [list\nof\nwords](../../docs/glossary.md), x[i\n");
  CHECK(rewritten("x[0\n```cpp\n[no](link.cpp)\n```\n") == "x[0\n```cpp\n[no](link.cpp)\n```\n");
  const std::string text =
      "[send.cpp](send.cpp#L1-L2)\n```cpp\ncode [no](link.cpp)\n```\n[docs](../../docs), [web](https://example.org/c) "
      "[x](#y)";
  CHECK(rewritten(text) == text);
}
