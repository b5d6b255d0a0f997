#include "lesson_answers.hpp"

#include <string>

#include "support/catch.hpp"
#include "temporary_tree.hpp"

using namespace lockstep::checks;

namespace {

const std::string kRing =
    "#include <x>\n\nvoid Ring::reduce(Call call) {\n  send_first_chunk(call);\n  for (int i = 0; i < 3; ++i) {\n"
    "    receive_and_add(call, i);\n  }\n  pass_the_sum_on(call);\n  divide_by_ranks(call);\n  "
    "count_the_bytes(call);\n}\n\n"
    "void Ring::part_two(Call call) {\n  copy_to_everyone(call);\n}\n\n"
    "void Ring::other() {\n  log_what_is_done();\n}\n";

const std::string kSolution =
    "void reduce(Place place) {\n  // SOLUTION(01.1) reduce: send\n  place.send(own_chunk());\n"
    "  place.receive(other_chunk());\n  // END SOLUTION\n}\n\nvoid given() {\n  call_all_others();\n}\n";

const std::string kReduce =
    "```cpp\nvoid Ring::reduce(Call call) {\n  send_first_chunk(call);\n"
    "  for (int i = 0; i < 3; ++i) {\n    receive_and_add(call, i);\n  }\n}\n```\n";
const std::string kPartTwo = "```cpp\n  copy_to_everyone( call );  // all of them\n```\n";

std::string exercise_json(const std::string& gives_away) {
  return R"({"id": "01.1", "title": "T", "minutes": 1, "difficulty": "easy", "points": 1, "files": ["reduce.cpp"],)"
         R"("gives_away": [)" +
         gives_away + "]}";
}

TemporaryTree tree(const std::string& lesson, const std::string& gives_away = R"("chapters/01_x/ring.cpp")") {
  return TemporaryTree(Files{{"exercises/01_x/1_reduce/exercise.json", exercise_json(gives_away)},
                             {"solutions/01_x/1_reduce/reduce.cpp", kSolution},
                             {"chapters/01_x/ring.cpp", kRing},
                             {"chapters/01_x/README.md", lesson},
                             {"chapters/02_x/README.md", kReduce}});
}

Problems answer_problems(const std::string& lesson) { return check_lesson_answers(tree(lesson).root()); }

std::string advice(const std::string& place, const std::string& function) {
  return kPlace + place + " shows " + function +
         ", which answers exercise 01.1: fold it, <details> below <!-- after 01.1 -->";
}

std::string folded(const std::string& text, const std::string& above = "<!-- after 01.1 -->") {
  return above + "\n<details><summary>After you passed</summary>\n\n" + text + "</details>\n";
}

}  // namespace

TEST_CASE("An answer is refused in the exercise's lesson, and accepted folded and in later lessons", "[course]") {
  CHECK(answer_problems(kReduce) == Problems{advice("1", "reduce of chapters/01_x/ring.cpp")});
  CHECK(answer_problems("```cpp\nplace.send(own_chunk());\nplace.receive(other_chunk());\n```\n") ==
        Problems{advice("1", "reduce of solutions/01_x/1_reduce/reduce.cpp")});
  CHECK(answer_problems(folded(kReduce)).empty());
  CHECK(answer_problems(folded(kReduce, "<!-- after 01.1 01.1 -->")).empty());
}

TEST_CASE("A fold belongs to an exercise only by the comment above, and ends where it ends", "[course]") {
  CHECK(answer_problems(folded(kReduce, "")).size() == 1);
  CHECK(answer_problems(folded(folded(kReduce, ""))).empty());
  CHECK(answer_problems(folded("Text.\n") + kReduce) == Problems{advice("6", "reduce of chapters/01_x/ring.cpp")});
  CHECK(answer_problems(folded(folded("Text.\n", "") + kReduce)).empty());
  CHECK(answer_problems("<!-- after 01.1 -->\n\n" + folded("Text.\n")) ==
        Problems{kPlace + "1: no <details> follows in the next line"});
  CHECK(answer_problems(folded("Text.\n", "<!-- after 01.2 -->")) == Problems{kPlace + "1: there is no exercise 01.2"});
}

TEST_CASE("A function of another name is an answer if the exercise says so", "[course]") {
  CHECK(answer_problems(kPartTwo).empty());
  const std::string entry = R"("chapters/01_x/ring.cpp#part_two")";
  CHECK(check_lesson_answers(tree(kPartTwo, entry).root()) ==
        Problems{advice("1", "part_two of chapters/01_x/ring.cpp")});
  CHECK(check_lesson_answers(tree("", R"("chapters/01_x/ring.cpp#part_three")").root()) ==
        Problems{"01.1: gives_away names part_three, which is no function of chapters/01_x/ring.cpp"});
}

TEST_CASE("Fewer than three lines of an answer, and what is no answer, may be shown", "[course]") {
  CHECK(answer_problems("```cpp\nplace.send(own_chunk());\n```\n").empty());
  CHECK(answer_problems("```cpp\n  send_first_chunk(call);\n```\n").empty());
  CHECK(answer_problems("```cpp\nlog_what_is_done();\ncall_all_others();\n```\n").empty());
  CHECK(answer_problems("```text" + kReduce.substr(kReduce.find('\n'))).empty());
  CHECK(answer_problems("[ring.cpp](ring.cpp#L4-L8)\n```\n  send_first_chunk(call);\n…\n"
                        "    receive_and_add(call, i);\n  }\n  pass_the_sum_on(call);\n```\n")
            .size() == 1);
}

TEST_CASE("lessons: no answer before its exercise", "[course][repository]") {
  for (const std::string& problem : check_lesson_answers(LOCKSTEP_SOURCE_DIR)) FAIL_CHECK(problem);
}
