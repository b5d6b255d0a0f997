#include "release/answers.hpp"

#include "release/corpus_text.hpp"
#include "release/tokens.hpp"
#include "support/catch.hpp"

using namespace lockstep::release;

namespace {

const std::string kSolution = R"(void step(Ring& ring) {
  // SOLUTION(02.1) step: send one chunk
  const Chunk outgoing = chunk_of(total, sends(rank, round, ranks), ranks);  // ours
  exchange(ring.next, part(outgoing), ring.previous, arrived);
  // END SOLUTION
})";
// The same code with different white space and comments.
const std::string kCopy =
    "int x;\n/* copied */ const Chunk outgoing=chunk_of(total,\n sends(rank,round,ranks),ranks);\n"
    "exchange(ring.next, part(outgoing), ring.previous, arrived);\nint y;\n";

Answers known() {
  Answers answers;
  answers.add_solution("02.1", kSolution);
  return answers;
}

}  // namespace

TEST_CASE("Tokens are the same whatever the layout and comments", "[release]") {
  std::vector<std::string> texts;
  std::vector<std::size_t> lines;
  for (const Token& token : tokens_of("a->b = 1'000.5; // x\n\"//\\\"\" /* y */\n  docs/* /* a")) {
    texts.push_back(token.text);
    lines.push_back(token.line);
  }
  CHECK(texts == std::vector<std::string>{"a", "->", "b", "=", "1'000.5", ";", "\"//\\\"\"", "docs"});
  CHECK(lines == std::vector<std::size_t>{1, 1, 1, 1, 1, 1, 2, 3});
}

TEST_CASE("A copied answer is found, with its lines", "[release]") {
  const auto findings = known().find_in(kCopy);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].exercise == "02.1");
  CHECK(findings[0].first_line == 2);
  CHECK(findings[0].last_line == 4);
}

TEST_CASE("What surrounds an answer is none, nor is what students are given", "[release]") {
  CHECK(known().find_in("void step(Ring& ring) { todo(\"02.1 step\"); }").empty());
  Answers answers = known();
  answers.forget_given("02.1", kCopy);
  CHECK(answers.find_in(kCopy).empty());
}

TEST_CASE("Loops that look alike everywhere are no answer", "[release]") {
  Answers answers;
  const std::string loop = "for (std::size_t i = 0; i < values.size(); ++i) values[i] += arrived[i];\n";
  answers.add_solution("01.2", "// SOLUTION(01.2) f: add\n" + loop + "// END SOLUTION\n");
  CHECK(answers.find_in(loop).empty());
}

TEST_CASE("A corpus loses the files that are left out, and lines of answers", "[release]") {
  Plan plan;
  plan.giveaways["ring.cpp"] = {"02.1"};
  const std::string text = "==== a.md ====\nkept\n==== ring.cpp ====\nlost\n==== b.md ====\n" + kCopy;
  CHECK(rewrite_corpus(text, plan, known()) == "==== a.md ====\nkept\n==== b.md ====\nint x;\nint y;\n");
}
