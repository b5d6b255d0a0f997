#include "exercise/template.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

namespace lockstep::exercise {
namespace {

using Catch::Matchers::ContainsSubstring;

Exercise exercise_02_1() {
  Exercise exercise;
  exercise.id = "02.1";
  return exercise;
}

}  // namespace

TEST_CASE("a region becomes its hint and a call of todo()", "[exercise]") {
  const std::string solution =
      "int f() {\n  // SOLUTION(02.1) f: return the answer\n  return 42;\n  // END SOLUTION\n}\n";
  CHECK(make_template(solution, exercise_02_1()) ==
        "int f() {\n  // TODO(02.1): return the answer\n  lockstep::todo(\"02.1 f\");\n}\n");
}

TEST_CASE("lines of faulty code stand in the template instead of todo()", "[exercise]") {
  const std::string solution =
      "int f() {\n  // SOLUTION(02.1) f: mend this\n  //| if (true)\n  //|   return 41;\n  //|\n  return 42;\n"
      "  // END SOLUTION\n}\n";
  CHECK(make_template(solution, exercise_02_1()) ==
        "int f() {\n  // TODO(02.1): mend this\n  if (true)\n    return 41;\n\n}\n");
}

TEST_CASE("a region without a name becomes its hint alone", "[exercise]") {
  const std::string solution = "void k() {\n  // SOLUTION(02.1): add: both\n  x += y;\n  // END SOLUTION\n}\n";
  CHECK(make_template(solution, exercise_02_1()) == "void k() {\n  // TODO(02.1): add: both\n}\n");
}

TEST_CASE("marks that are wrong are refused with their line", "[exercise]") {
  const auto [solution, message] = GENERATE(table<std::string, std::string>(
      {{"int x;\n", "there is no region"},
       {"// SOLUTION(02.1) f: hint\n", "line 1: the region is not closed"},
       {"\n// END SOLUTION\n", "line 2: the end of a region that has not begun"},
       {"// SOLUTION(02.2) f: hint\n// END SOLUTION\n", "line 1: the region is not marked as one of exercise 02.1"},
       {"// SOLUTION(02.1) f\n// END SOLUTION\n", "line 1: a region begins with"},
       {"// SOLUTION(02.1) f: a\n// SOLUTION(02.1) g: b\n", "line 2: a region within a region"}}));
  CHECK_THROWS_WITH(make_template(solution, exercise_02_1()), ContainsSubstring(message));
}

}  // namespace lockstep::exercise
