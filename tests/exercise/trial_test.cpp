#include "exercise/trial.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"

namespace lockstep::exercise {
namespace {

using Catch::Matchers::ContainsSubstring;

Outcome try_scenario(const std::string& what, int world_size,
                     std::chrono::milliseconds budget = std::chrono::seconds(10)) {
  const std::string program = test::built_program("exercise_scenario");
  const Subject subject{.program = program, .source_folder = "tests/exercise"};
  return run_trial(subject, {.world_size = world_size,
                             .question =
                                 [&](int) {
                                   return nlohmann::json{{"what", what}};
                                 },
                             .budget = budget});
}

std::string evidence_of(const Outcome& outcome) {
  std::string text;
  for (const std::string& line : outcome.failure.evidence) text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("ranks that answer pass, and their answers and output come back", "[exercise]") {
  const Outcome outcome = try_scenario("answer", 3);
  REQUIRE(outcome.failure.verdict == VerdictClass::kPassed);
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(outcome.ranks[rank].answer.at("rank") == rank);
    CHECK_THAT(outcome.ranks[rank].output, ContainsSubstring("about to answer"));
  }
}

TEST_CASE("ranks that wait in a circle are a hang, with the circle and the lines", "[exercise]") {
  const Outcome outcome = try_scenario("receive first", 3);
  CHECK(outcome.failure.verdict == VerdictClass::kHang);
  CHECK_THAT(outcome.failure.summary,
             ContainsSubstring("rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0: all three "
                               "receive before they send"));
  CHECK_THAT(evidence_of(outcome),
             ContainsSubstring("rank 2 receives from rank 0: 0 of 4 bytes (scenario_subject.cpp:"));
}

TEST_CASE("a rank that computes without end is a loop, with its place, and no hang", "[exercise]") {
  const Outcome outcome = try_scenario("loop", 1, std::chrono::seconds(60));
  CHECK(outcome.failure.verdict == VerdictClass::kLoop);
  CHECK_THAT(evidence_of(outcome), ContainsSubstring("loop_forever at scenario_subject.cpp:"));
}

TEST_CASE("ranks that move on but not fast enough are slow", "[exercise]") {
  CHECK(try_scenario("move slowly", 2, std::chrono::milliseconds(500)).failure.verdict == VerdictClass::kSlow);
}

TEST_CASE("a crash names the signal, the rank and the line", "[exercise]") {
  const Outcome outcome = try_scenario("write through null", 2);
  CHECK(outcome.failure.verdict == VerdictClass::kCrash);
  CHECK_THAT(outcome.failure.summary, ContainsSubstring("rank 0 died of Segmentation fault"));
  CHECK_THAT(evidence_of(outcome), ContainsSubstring("write_through_null at scenario_subject.cpp:"));
  CHECK_THAT(evidence_of(outcome), ContainsSubstring("about to write through null"));
}

TEST_CASE("an exception is shown with its rank and text", "[exercise]") {
  const Outcome outcome = try_scenario("throw", 2);
  CHECK(outcome.failure.verdict == VerdictClass::kCrash);
  CHECK(outcome.failure.summary == "rank 0 threw an exception: the sky is green");
}

TEST_CASE("an exit with status 0 is no pass", "[exercise]") {
  const Outcome outcome = try_scenario("exit", 2);
  CHECK(outcome.failure.verdict == VerdictClass::kCrash);
  CHECK_THAT(outcome.failure.summary, ContainsSubstring("rank 0 exited with status 0 before it had answered"));
}

TEST_CASE("a rank that waits for one that has returned is told so", "[exercise]") {
  const Outcome outcome = try_scenario("leave", 2);
  CHECK(outcome.failure.verdict == VerdictClass::kCrash);
  CHECK_THAT(outcome.failure.summary, ContainsSubstring("receiving from rank 0: it has closed the connection"));
}

TEST_CASE("what is not written yet is no failure of another kind", "[exercise]") {
  const Outcome outcome = try_scenario("do nothing yet", 2);
  CHECK(outcome.failure.verdict == VerdictClass::kTodo);
  CHECK_THAT(outcome.failure.summary, ContainsSubstring("99.9 everything"));
}

TEST_CASE("a process that a rank has started does not outlive the trial", "[exercise]") {
  const Outcome outcome = try_scenario("start a process", 1);
  REQUIRE(outcome.failure.verdict == VerdictClass::kPassed);
  const pid_t child = outcome.ranks[0].answer.at("child");
  REQUIRE(child > 1);
  CHECK(test::wait_until_gone({child}).empty());
}

}  // namespace lockstep::exercise
