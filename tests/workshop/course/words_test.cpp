#include "words.hpp"

#include <string>

#include "support/catch.hpp"
#include "temporary_tree.hpp"

using namespace lockstep::checks;
using lockstep::course::split_lines;

namespace {

const Habit kWhere = {.name = "where", .phrases = {"nothing where", "where there is"}, .better = "if", .limit = 1};
const Habit kWhat = {.name = "what", .phrases = {"what"}, .begins_sentence = true, .better = "name it"};

}  // namespace

TEST_CASE("Habits are found in comments and literals, across their line breaks, and not in code", "[course]") {
  const lockstep::course::TextFile file = {"a.cpp", split_lines(R"x(#include "where there is"
/// The value, or nothing
/// where none was set.
int where_there_is = 0;  ///< Zero Where  there is none.
call();
// Nowhere there is a finding: nothing whereabouts.
say("nothing "
    "where it rains");
int nothing, where;
)x")};
  CHECK(find_habit(file, kWhere) == Problems{"a.cpp:2: The value, or nothing where none was set.",
                                             "a.cpp:4: Zero Where there is none.", "a.cpp:7: nothing where it rains"});
}

TEST_CASE("A sentence that begins with a habit is found, a question is not", "[course]") {
  const lockstep::course::TextFile file = {"a.cpp", split_lines(R"x(// What is sent. It says what it does. What
// follows is the rest. What is this?
call();
// What next? This is what: a test.
)x")};
  CHECK(find_habit(file, kWhat).size() == 1);
  CHECK(find_habit({"a.md", split_lines("Text of a\nparagraph. What follows is\n\n`What` is code\n\nWhat now?\n")},
                   kWhat) == Problems{"a.md:2: Text of a paragraph. What follows is"});
}

TEST_CASE("More findings of a habit than its limit are all named", "[course]") {
  const Files one = {{"common/a.hpp", "// nothing where\n"}, {"common/b.py", "# nothing where\n"}};
  CHECK(check_words(TemporaryTree(one).root(), {kWhere}).empty());
  const Files two = {{"common/a.hpp", "// nothing where\n"}, {"docs/b.md", "here, where there is one\n"}};
  CHECK(check_words(TemporaryTree(two).root(), {kWhere, kWhat}) ==
        Problems{"where: 2 times, at most 1; better: if\n  common/a.hpp:1: nothing where\n"
                 "  docs/b.md:1: here, where there is one"});
}

TEST_CASE("The project's comments, messages and lessons keep to plain English", "[course][repository]") {
  for (const std::string& problem : check_words(LOCKSTEP_SOURCE_DIR, counted_habits())) FAIL_CHECK(problem);
}
