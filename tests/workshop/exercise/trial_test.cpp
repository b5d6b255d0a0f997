#include "exercise/trial.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/inherited_fds.hpp"
#include "exercise/examination.hpp"
#include "exercise/finding_text.hpp"
#include "exercise/kernel_counts.hpp"
#include "exercise/progress_board.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace lockstep::exercise {
namespace {

using Catch::Matchers::ContainsSubstring;

Outcome try_scenario(const std::string& what, int world_size,
                     std::chrono::milliseconds budget = std::chrono::seconds(10)) {
  const std::string program = test::built_program("exercise_scenario");
  const Subject subject{.program = program, .source_folder = "tests/workshop/exercise"};
  return run_trial(subject, {.world_size = world_size,
                             .question =
                                 [&](int) {
                                   return nlohmann::json{{"what", what}};
                                 },
                             .budget = budget});
}

// A check of one rank with this question.
CheckResult check_of(const nlohmann::json& question) {
  Examination exam({.program = test::built_program("exercise_scenario")}, Thoroughness::kFull, 1);
  exam.check("a check", [&](Check& check) {
    (void)check.run({.question = [&](int) { return question; }, .budget = std::chrono::seconds(60)});
  });
  return exam.results().front();
}

std::string evidence_of(const Outcome& outcome) {
  std::string text;
  for (const std::string& line : outcome.failure.evidence) text += line + "\n";
  return text;
}

// The only line of the scenarios' source that contains `code`, as named in evidence.
std::string place_of(const std::string& code) {
  std::istringstream source(read_file(LOCKSTEP_PROJECT_ROOT "/tests/workshop/exercise/scenario_subject.cpp"));
  int number = 1;
  for (std::string line; std::getline(source, line); ++number)
    if (line.find(code) != std::string::npos) return "scenario_subject.cpp:" + std::to_string(number);
  FAIL("no line contains " << code);
  return "";
}

}  // namespace

TEST_CASE("ranks that answer pass, and their answers and output come back", "[exercise]") {
  const Outcome outcome = try_scenario("answer", 3);
  REQUIRE(outcome.failure.verdict == VerdictClass::kPassed);
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(outcome.ranks[rank].answer.at("rank") == rank);
    CHECK_THAT(outcome.ranks[rank].output, ContainsSubstring("about to answer"));
    CHECK(outcome.ranks[rank].remarks == std::vector<std::string>{"sum.cu:2  loads"});
  }
}

TEST_CASE("ranks that wait in a circle are a hang, with the circle and the lines", "[exercise]") {
  const Outcome outcome = try_scenario("receive first", 3);
  CHECK(outcome.failure.verdict == VerdictClass::kHang);
  CHECK_THAT(outcome.failure.summary,
             ContainsSubstring("rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0: all three "
                               "receive before they send"));
  CHECK_THAT(evidence_of(outcome),
             ContainsSubstring("rank 2 receives from rank 0: 0 of 4 bytes (" + place_of(".receive(std::span") + ")"));
}

TEST_CASE("a rank that computes without end is a loop, with its place, and no hang", "[exercise]") {
  const Outcome outcome = try_scenario("loop", 1, std::chrono::seconds(60));
  CHECK(outcome.failure.verdict == VerdictClass::kLoop);
  CHECK_THAT(evidence_of(outcome), ContainsSubstring("loop_forever at " + place_of("while (is_running)")));
}

TEST_CASE("a rank that prints much is no hang: it answers in the end, or prints in a loop", "[exercise]") {
  const Outcome much = try_scenario("print much", 1, std::chrono::seconds(120));
  CHECK(much.failure.verdict == VerdictClass::kPassed);
  CHECK(much.ranks.front().output.size() < 1'000'000);
  const Outcome endless = try_scenario("print without end", 1, std::chrono::seconds(120));
  CHECK(endless.failure.verdict == VerdictClass::kLoop);
  CHECK_THAT(evidence_of(endless), ContainsSubstring("rank 0 has printed more than a megabyte"));
}

TEST_CASE("ranks that move on but not fast enough are slow", "[exercise]") {
  CHECK(try_scenario("move slowly", 2, std::chrono::milliseconds(500)).failure.verdict == VerdictClass::kSlow);
}

TEST_CASE("a crash names the signal, the rank and the line", "[exercise]") {
  const Outcome outcome = try_scenario("write through null", 2);
  CHECK(outcome.failure.verdict == VerdictClass::kCrash);
  CHECK_THAT(outcome.failure.summary, ContainsSubstring("rank 0 died of Segmentation fault"));
  CHECK_THAT(evidence_of(outcome), ContainsSubstring("write_through_null at " + place_of("*nothing = 1;")));
  CHECK_THAT(evidence_of(outcome), ContainsSubstring("call_and_go_on at " + place_of("  write_through_null();")));
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
  CHECK_THAT(outcome.failure.next, ContainsSubstring("if your file has a main(), take it out"));
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

TEST_CASE("what the emulator's checker has found is a verdict of its own", "[exercise]") {
  const Outcome outcome = try_scenario("race", 1);
  CHECK(outcome.failure.verdict == VerdictClass::kRace);
  CHECK(outcome.failure.summary == "race in kernel sum");
  CHECK(outcome.failure.next == "a hint");
  CHECK(evidence_of(outcome) == "its words\n");  // this folder has no sum.cu, so no source line is shown
  CHECK(outcome.fingerprint == "finding race");
}

TEST_CASE("a finding shows the learner's lines, each once in a row", "[exercise]") {
  const SourceFiles sources = {{"sum.cu", "first\n  total += x;\n"}};
  const KernelFinding finding{"RACE", "a race", "race", {{"sum.cu", 2}, {"sum.cu", 2}, {"sum.cu", 9}}, "words\n", ""};
  CHECK(failure_of({finding}, "work/x", sources).evidence ==
        std::vector<std::string>{"work/x/sum.cu:2:  total += x;", "words"});
}

TEST_CASE("a finding names files as it likes, and only the learner's own are quoted", "[exercise]") {
  const test::TemporaryFolder folder;
  write_file(folder.path() / "secret.txt", "secret\n");
  const std::string secret = folder.path() / "secret.txt";
  const SourceFiles sources = {{"sum.cu", "mine\n"}};
  for (const std::string& name :
       {secret, std::string("secret.txt"), "../../../../../../../.." + secret, "./" + std::string("sum.cu"),
        "sum.cu/../" + secret, std::string("/proc/self/environ"), std::string("")}) {
    INFO(name);
    const KernelFinding finding{"RACE", "a race", "race", {{name, 1}}, "", ""};
    CHECK(failure_of({finding}, folder.path(), sources).evidence.empty());
    CHECK(failure_of({finding}, "/", sources).evidence.empty());
  }
}

TEST_CASE("a finding has no verdict that the checker does not give", "[exercise]") {
  for (const char* verdict : {"SETUP", "passed", "BUILD", "SKIPPED", "TODO", "NONSENSE", ""}) {
    INFO(verdict);
    CHECK_THROWS_AS(failure_of({{verdict, "", "", {}, "", ""}}, "", {}), FormatError);
  }
  CHECK(failure_of({{"LEAK", "", "", {}, "", ""}}, "", {}).verdict == VerdictClass::kLeak);
}

TEST_CASE("what a program says is cut, and controls no terminal", "[exercise]") {
  const CheckResult result = check_of({{"what", "throw a long text"}});
  REQUIRE(result.failure);
  CHECK(result.failure->verdict == VerdictClass::kCrash);
  CHECK(result.failure->summary.starts_with("the program threw an exception: ?[2Jxxx"));
  CHECK(result.failure->summary.size() < 3000);
}

TEST_CASE("an answer of too many values is refused before it is made", "[exercise]") {
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  const CheckResult result = check_of({{"what", "answer many values"}});
  ::getrusage(RUSAGE_SELF, &after);
  REQUIRE(result.failure);
  CHECK(result.failure->verdict == VerdictClass::kCrash);
  CHECK_THAT(result.failure->summary, ContainsSubstring("too many values"));
  CHECK(after.ru_maxrss - before.ru_maxrss < 100 << 10);  // in KiB; two million values take more than 200 MiB
}

TEST_CASE("a program cannot say that grading has failed, or that it has passed", "[exercise]") {
  for (const char* verdict : {"SETUP", "passed", "SKIPPED", "BUILD"}) {
    INFO(verdict);
    const CheckResult result = check_of({{"what", "name a verdict"}, {"verdict", verdict}});
    REQUIRE(result.failure);
    CHECK(result.failure->verdict == VerdictClass::kCrash);
    CHECK(result.failure->summary == "the program's answer makes no sense");
  }
}

TEST_CASE("a program that does not take its question hangs, and so does not hold up the judge", "[exercise]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path program = folder.path() / "sleeps";
  write_file(program, "#!/bin/sh\nexec sleep 1000\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Subject subject{.program = program, .patience = 0.05};
  const std::string large(4 << 20, 'x');
  const Outcome outcome = run_trial(subject, {.question =
                                                  [&](int) {
                                                    return nlohmann::json{{"values", large}};
                                                  },
                                              .budget = std::chrono::minutes(9)});
  CHECK(outcome.failure.verdict == VerdictClass::kHang);
}

TEST_CASE("checks that would begin too late are not tried", "[exercise]") {
  Examination exam({.program = test::built_program("exercise_scenario")}, Thoroughness::kFull, 1);
  exam.begin_none_after(std::chrono::seconds(1));
  for (int i = 0; i < 3; ++i)
    exam.check("a check", [](Check&) { std::this_thread::sleep_for(std::chrono::milliseconds(1100)); });
  CHECK(!exam.results().at(0).failure);
  for (int i = 1; i < 3; ++i) CHECK(exam.results().at(i).failure->verdict == VerdictClass::kSkipped);
}

TEST_CASE("a program inherits nothing that the judge has inherited", "[exercise]") {
  const int left_open = ::open("/dev/null", O_RDONLY);  // inherited on exec, as if left open by a shell
  REQUIRE(left_open > 2);
  close_inherited_on_exec();
  const Outcome outcome = try_scenario("list descriptors", 2);
  ::close(left_open);
  REQUIRE(outcome.failure.verdict == VerdictClass::kPassed);
  // Rank 0 has its standard streams, its connection to the judge, the board, and its connection to rank 1.
  CHECK(outcome.ranks[0].answer.at("descriptors") == "0 1 2 3 4 6");
  CHECK(outcome.ranks[1].answer.at("descriptors") == "0 1 2 3 4 5");
}

TEST_CASE("a kernel's counts travel in an answer, and an answer without them has none", "[exercise]") {
  KernelCounts counts;
  counts.stores.transactions = 7;
  counts.barriers = 3;
  Answer answer;
  CHECK(!counts_in(answer.message()).has_value());
  set_counts(answer, counts);
  const std::optional<KernelCounts> received = counts_in(answer.message());
  REQUIRE(received.has_value());
  CHECK(received->stores.transactions == 7);
  CHECK(received->loads.transactions == 0);
  CHECK(received->barriers == 3);
}

TEST_CASE("a process that a rank has started does not outlive the trial", "[exercise]") {
  const Outcome outcome = try_scenario("start a process", 1);
  REQUIRE(outcome.failure.verdict == VerdictClass::kPassed);
  const pid_t child = outcome.ranks[0].answer.at("child");
  REQUIRE(child > 1);
  CHECK(test::wait_until_gone({child}).empty());
}

TEST_CASE("an infinite result is no likeness of a finite one", "[exercise]") {
  const std::string program = test::built_program("exercise_scenario");
  const Subject bank{.program = program};
  const Judge judge = [](Examination& exam) {
    exam.check("the result is 1", [](Check& check) {
      const Outcome& outcome = check.run({.question = [](int) { return nlohmann::json{{"what", "answer"}}; }});
      check.expect(check.numbers<double>(outcome, 0, "result") == std::vector<double>{1}, "it is not");
    });
  };
  for (const char* mistake : {"zero", "infinity"}) {
    Subject subject = bank;
    subject.mistake = mistake;
    Examination exam(subject, Thoroughness::kQuick, 1);
    judge(exam);
    const std::vector<LikelyMistake> likely = likely_mistakes(exam, bank, judge, 1);
    REQUIRE(likely.size() == 1);
    CHECK(likely.front().name == mistake);
  }
}

TEST_CASE("a position value says whose it is and where it was", "[exercise]") {
  const std::vector<float> last = position_values(kMostRanks - 1, 500'000);
  CHECK(explain_position(last.back(), 0) == concat("element 499999 of rank ", kMostRanks - 1));
  CHECK(explain_position(position_values(2, 4)[3], 2) == "its own element 3");
  for (const double other : {0.0, -1.0, 0.5, 500'000.5, 1e12, std::nan("")}) CHECK(explain_position(other, 0).empty());
  CHECK_THROWS_AS(position_values(0, 500'001), ContractError);
}

}  // namespace lockstep::exercise
