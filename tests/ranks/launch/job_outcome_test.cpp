#include "launch/local/job_outcome.hpp"

#include <signal.h>

#include "base/preemption.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::launch;

namespace {

JobOptions options_of(int world_size, int preempt_signal = 0) {
  JobOptions options;
  options.world_size = world_size;
  options.preempt_signal = preempt_signal;
  return options;
}

}  // namespace

TEST_CASE("a job whose ranks have all saved is to be started again, unless somebody does not want it", "[launch]") {
  const JobOptions options = options_of(2, SIGUSR2);
  JobOutcome outcome(options);
  const int signal = GENERATE(0, SIGTERM, SIGUSR2, SIGINT);
  if (signal != 0) {
    outcome.note_signal(signal);
    outcome.end_by(signal);
  }
  outcome.note_end();
  CHECK(outcome.note_preempted());
  CHECK(outcome.left() == 1);
  outcome.note_end();
  SECTION("all have") {
    CHECK_FALSE(outcome.note_preempted());
    CHECK(outcome.conclude_preemption() == (signal != SIGINT));
    CHECK(outcome.result().exit_code == (signal == SIGINT ? 128 + SIGINT : kRequeueExitCode));
  }
  SECTION("one has not") {
    CHECK_FALSE(outcome.conclude_preemption());
    CHECK(outcome.result().exit_code == (signal == 0 ? 0 : 128 + signal));
  }
}

TEST_CASE("a rank that a signal to all processes has ended first is no failure", "[launch]") {
  const JobOptions options = options_of(2);
  JobOutcome outcome(options);
  const int exit_code = GENERATE(3, 128 + SIGTERM);
  outcome.note_failure({0, "has ended", {}}, exit_code);
  outcome.note_signal(SIGTERM);
  outcome.end_by(SIGTERM);
  CHECK(outcome.result().failure.has_value() == (exit_code == 3));
  CHECK(outcome.result().exit_code == exit_code);
}

TEST_CASE("it is known whether the others ended in good order after a rank was interrupted", "[launch]") {
  const JobOptions options = options_of(3);
  JobOutcome outcome(options);
  outcome.note_failure({1, "exited with code 130", {}}, 130);
  outcome.note_success();
  CHECK_FALSE(outcome.was_only_interrupted());  // the third one has failed, or runs
  CHECK(outcome.note_preempted());
  CHECK(outcome.was_only_interrupted());
}

TEST_CASE("the first failure may follow from that of a rank that was killed, but not from its own", "[launch]") {
  const JobOptions options = options_of(3);
  JobOutcome outcome(options);
  outcome.note_failure({0, "exited with code 1", {}}, 1);
  CHECK_FALSE(outcome.may_follow_from(0));
  CHECK(outcome.may_follow_from(1));
  outcome.note_failure({1, "was killed by SIGKILL", {}}, 128 + SIGKILL);
  CHECK_FALSE(outcome.may_follow_from(2));  // both were killed: the first one stays
}
