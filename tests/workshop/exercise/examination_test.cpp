// The framework for judges, and how a trial's failure becomes a verdict.
#include "exercise/examination.hpp"

#include "support/catch.hpp"
#include "support/subprocess.hpp"

namespace lockstep::exercise {
namespace {

using Catch::Matchers::ContainsSubstring;

Failure failure_of(const std::string& what, const TrialOptions& given) {
  const Subject subject{.program = test::built_program("exercise_scenario"),
                        .source_folder = "tests/workshop/exercise"};
  Examination exam(subject, Thoroughness::kQuick, 1);
  exam.check("a scenario", [&](Check& check) {
    TrialOptions options = given;
    options.question = [&](int) { return nlohmann::json{{"what", what}}; };
    (void)check.run(options);
  });
  return exam.results().front().failure.value_or(Failure{});
}

}  // namespace

TEST_CASE("a sum in octal digits says who is in it, and a factor is named as one", "[exercise]") {
  CHECK(explain_sum(73, 3) == "");
  CHECK(explain_sum(65, 3) == "rank 1 missing");
  CHECK(explain_sum(1, 2) == "rank 1 missing");
  CHECK(explain_sum(74, 3) == "rank 0 counted twice");
  CHECK(explain_sum(146, 3) == "2 times the sum");
  CHECK(explain_sum(73.0 / 3, 3) == "this is the sum, divided by 3");
  CHECK(explain_sum(static_cast<float>(73.0 / 7), 3) == "this is the sum, divided by 7");
  CHECK(explain_sum(585.0 / 4, 4) == "this is the sum, divided by 4");
  CHECK(explain_sum(24.5, 3) == "");
}

TEST_CASE("a failure says in which of a check's trials it happened", "[exercise]") {
  CHECK_THAT(failure_of("throw", {.world_size = 2, .setting = "2 ranks, root 1"}).summary,
             Catch::Matchers::StartsWith("2 ranks, root 1: rank 0 threw an exception"));
  CHECK_THAT(failure_of("receive first", {.world_size = 2, .setting = "2 ranks, root 1"}).summary,
             Catch::Matchers::StartsWith("2 ranks, root 1: rank 0 waits"));
  CHECK_THAT(failure_of("throw", {.world_size = 2}).summary, Catch::Matchers::StartsWith("rank 0 threw"));
}

TEST_CASE("a message that is shorter than its receiver expects is named, and so is a rank that is alone",
          "[exercise]") {
  const Failure shorter = failure_of("expect too much", {.world_size = 2});
  CHECK(shorter.verdict == VerdictClass::kHang);
  CHECK_THAT(shorter.summary, ContainsSubstring("waits for 20 bytes from rank 1, which has sent 8 and sends no more"));
  const Failure alone = failure_of("expect too much", {.world_size = 1});
  CHECK(alone.verdict == VerdictClass::kCrash);
  CHECK_THAT(alone.summary, ContainsSubstring("this rank is alone"));
  CHECK_THAT(failure_of("connect to itself", {.world_size = 2}).summary,
             ContainsSubstring("rank 0 asks for a connection to itself"));
}

}  // namespace lockstep::exercise
