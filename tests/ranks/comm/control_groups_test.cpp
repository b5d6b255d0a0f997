// Groups of some of the ranks, messages between two ranks, and who is named when something goes wrong in them. Ranks
// tell the control plane what they are in and exchange no data: what is tested is the judgement.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/error.hpp"
#include "comm/control/control_plane.hpp"
#include "comm/fingerprints.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "comm/line_process_group.hpp"
#include "comm/played_ranks.hpp"
#include "store/store.hpp"
#include "support/captured_stderr.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/soon.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using comm::Collective;
using comm::Failure;
using comm::FailureKind;
using comm::JobContext;
using test::all_reduce;
using test::enter;
using test::message;
using test::run_ranks_for;
using test::soon;
using test::verdict;

namespace {

// Longer than some ticks of the control plane (100 ms at most): what is to be noticed has been.
constexpr auto kLongEnough = 400ms;

// All ranks wait for each other, by the store alone.
void meet(const JobContext& context, const std::string& where) {
  context.store->add(where, 1);
  for (const auto deadline = soon(); context.store->add(where, 0) < context.world_size;) {
    if (deadline.has_expired()) throw TimeoutError("ranks did not meet at " + where);
    std::this_thread::sleep_for(5ms);
  }
}

// Until standard error has the text.
void wait_until_said(const test::CapturedStderr& captured, const std::string& text) {
  for (const auto deadline = soon(); captured.text().find(text) == std::string::npos;) {
    if (deadline.has_expired()) throw TimeoutError("nobody says " + text);
    std::this_thread::sleep_for(5ms);
  }
}

comm::JobLimits quick_reports() {
  comm::JobLimits limits = test::test_limits();
  limits.progress_report = 200ms;
  return limits;
}

}  // namespace

TEST_CASE("groups of other ranks with the same number are never compared", "[comm][multirank]") {
  const auto messages = run_ranks_for<std::string>(4, [](JobContext context) {
    const bool is_low = context.rank < 2;
    const int group = context.control->next_group_id();
    context.control->register_group(group, is_low ? std::vector<int>{0, 1} : std::vector<int>{2, 3});
    enter(context, group, all_reduce(0, is_low ? 4 : 5));
    const auto failure = context.control->wait_for_failure(Deadline::after(kLongEnough));
    meet(context, "done");
    return failure ? failure->message : "";
  });
  CHECK(messages == std::vector<std::string>(4));
}

TEST_CASE("different collectives in a group of some ranks are a mismatch", "[comm][multirank]") {
  const auto failures = run_ranks_for<Failure>(5, [](JobContext context) {
    enter(context, 0, all_reduce(0));
    context.control->note(0, all_reduce(0), comm::CallStep::kEnded);
    if (context.rank >= 2) context.control->register_group(7, {4, 2, 3});
    if (context.rank == 2 || context.rank == 4) enter(context, 7, all_reduce(0, 4));
    meet(context, "entered");  // against one rank alone rank 3 would be no outlier
    if (context.rank == 3) enter(context, 7, all_reduce(0, 5));
    return verdict(context);
  });
  for (const Failure& failure : failures) {
    CHECK(failure.kind == FailureKind::kMismatch);
    CHECK(failure.culprit == 3);  // two others agree
    CHECK_THAT(failure.message, ContainsSubstring("all_reduce #0 (sum of 5 float32) of group 7") &&
                                    ContainsSubstring("rank 3 differs from the others"));
  }
}

TEST_CASE("of two ranks that disagree neither is the culprit", "[comm][multirank]") {
  const auto failures = run_ranks_for<Failure>(2, [](JobContext context) {
    enter(context, 0, all_reduce(0, 4 + context.rank));
    return verdict(context);
  });
  for (const Failure& failure : failures) CHECK((failure.kind == FailureKind::kMismatch && failure.culprit == -1));
}

TEST_CASE("only members of a group are missing from its collectives", "[comm][multirank]") {
  const auto failures = run_ranks_for<Failure>(4, [](JobContext context) {
    if (context.rank == 1 || context.rank == 2) context.control->register_group(3, {2, 1});
    if (context.rank == 1) {
      enter(context, 3, all_reduce(0));
      context.control->abort({FailureKind::kTimeout, -1, "rank 1: waited long enough"});
    }
    return verdict(context);
  });
  for (const Failure& failure : failures) {
    CHECK(failure.kind == FailureKind::kTimeout);
    CHECK(failure.culprit == 2);
    CHECK(failure.message == "rank 1: waited long enough; not entered by rank 2 (has entered nothing)");
  }
}

TEST_CASE("a member that leaves is named, a rank outside the group may leave", "[comm][multirank]") {
  const bool is_member = GENERATE(true, false);
  const auto failures = run_ranks_for<Failure>(4, [&](JobContext context) {
    const int leaving = is_member ? 2 : 3;
    if (context.rank == 1 || context.rank == 2) context.control->register_group(3, {1, 2});
    meet(context, "registered");
    if (context.rank == leaving) return Failure{FailureKind::kLeft, leaving, ""};
    if (context.rank == 1) enter(context, 3, all_reduce(0));
    if (context.rank == 2) enter(context, 3, all_reduce(0));
    const auto failure = context.control->wait_for_failure(is_member ? soon() : Deadline::after(kLongEnough));
    return failure ? *failure : Failure{FailureKind::kLeft, 3, "none"};
  });
  for (const int rank : {0, 1}) {
    CHECK(failures[rank].culprit == (is_member ? 2 : 3));
    CHECK(failures[rank].message == (is_member ? "rank 2 has left without entering all_reduce #0" : "none"));
  }
}

TEST_CASE("no two groups have the same number, whatever groups ranks have made before", "[comm][multirank]") {
  const auto numbers = run_ranks_for<std::vector<int>>(4, [](JobContext context) {
    comm::ControlPlane& control = *context.control;
    const int half = context.rank / 2 * 2;  // the first rank of this half
    std::vector<int> own{control.next_group_id(), control.take_part_in_split(control.next_split(), half)};
    for (int i = 0; i < 3 && half == 0; ++i) own.push_back(control.take_part_in_split(control.next_split(), half));
    own.push_back(control.next_group_id());
    const int reached = control.next_split();
    own.push_back(control.take_part_in_split(4, 0));  // ranks 0 and 1 have reached 4, ranks 2 and 3 have reached 1
    return reached == (half == 0 ? 4 : 1) ? own : std::vector<int>{};
  });
  CHECK(numbers[0] == std::vector<int>{0, 1, 6, 11, 16, 5, 21});
  CHECK(numbers[2] == std::vector<int>{0, 3, 5, 21});
  CHECK(numbers[1] == numbers[0]);
  CHECK(numbers[3] == numbers[2]);
}

TEST_CASE("a group names ranks of the job, each once", "[comm][multirank]") {
  const auto outcomes = test::run_ranks(2, [](JobContext context) {
    context.control->register_group(1, {0, context.rank == 0 ? 2 : 0});
  });
  for (const auto& outcome : outcomes) CHECK(outcome.is<ContractError>());
}

TEST_CASE("a peer that leaves while this rank waits for its message is named on all ranks", "[comm][multirank]") {
  const auto direction = GENERATE(Collective::kSend, Collective::kRecv);
  const int leaving = GENERATE(0, 2);
  const auto failures = run_ranks_for<Failure>(3, [&](JobContext context) {
    if (context.rank == leaving) return Failure{FailureKind::kLeft, leaving, ""};
    if (context.rank == 1) context.control->note(0, message(direction, 0, leaving), comm::CallStep::kStarted);
    return verdict(context);
  });
  const Failure& seen = failures[1];
  CHECK(seen.kind == FailureKind::kLeft);
  CHECK(seen.culprit == leaving);
  CHECK_THAT(seen.message, ContainsSubstring(concat("rank ", leaving, " has left while rank 1 waits for it in")));
  if (leaving == 2) CHECK(failures[0].message == seen.message);
  try {
    std::rethrow_exception(to_exception(seen, "rank 1"));
  } catch (const PeerFailedError& error) {
    CHECK(error.culprit() == leaving);
  }
}

TEST_CASE("a peer that has done its part may leave before this rank is through", "[comm][multirank]") {
  const auto messages = run_ranks_for<std::string>(3, [](JobContext context) {
    comm::ControlPlane& control = *context.control;
    if (context.rank == 2) {  // has sent number 0 and 1 to rank 1
      for (const std::uint64_t sequence : {0, 1}) {
        control.note(0, message(Collective::kSend, sequence, 1), comm::CallStep::kStarted);
        control.note(0, message(Collective::kSend, sequence, 1), comm::CallStep::kEnded);
      }
      return std::string();
    }
    if (context.rank == 1) control.note(0, message(Collective::kRecv, 1, 2), comm::CallStep::kStarted);
    const auto failure = control.wait_for_failure(Deadline::after(kLongEnough));
    control.note(0, message(Collective::kRecv, 1, 2), comm::CallStep::kEnded);
    return failure ? failure->message : "";
  });
  CHECK(messages == std::vector<std::string>(3));
}

TEST_CASE("peers of a message are ranks of the group, and are named as ranks of the job", "[comm][multirank]") {
  const auto failures = run_ranks_for<Failure>(4, [](JobContext context) {
    if (context.rank == 1 || context.rank == 3) context.control->register_group(5, {3, 1});
    if (context.rank == 3) enter(context, 0, all_reduce(5));
    meet(context, "entered");
    if (context.rank == 1) {
      context.control->note(5, message(Collective::kRecv, 2, 0),
                            comm::CallStep::kStarted);  // rank 0 of the group is rank 3
      context.control->abort({FailureKind::kTimeout, -1, "rank 1: past its deadline"});
    }
    return verdict(context);
  });
  for (const Failure& failure : failures) {
    CHECK(failure.culprit == 3);
    CHECK_THAT(failure.message, ContainsSubstring("rank 1: past its deadline; rank 1 waits for rank 3 in") &&
                                    ContainsSubstring("; rank 3: all_reduce #5 (sum of 10 float32)"));
  }
}

TEST_CASE("a message that takes long is reported with what the peer is doing, once", "[comm][multirank]") {
  std::string text;
  {
    const test::CapturedStderr captured;
    (void)run_ranks_for<int>(
        3,
        [&](JobContext context) {
          if (context.rank == 2) enter(context, 0, all_reduce(3));
          meet(context, "entered");
          if (context.rank == 1) context.control->note(0, message(Collective::kSend, 4, 2), comm::CallStep::kStarted);
          wait_until_said(captured, "waits for rank 2");
          (void)context.control->wait_for_failure(Deadline::after(kLongEnough));  // for a second report
          context.control->note(0, message(Collective::kSend, 4, 2), comm::CallStep::kEnded);
          context.control->note(0, all_reduce(0), comm::CallStep::kEnded);
          meet(context, "end");
          return 0;
        },
        quick_reports());
    text = captured.text();
  }
  CHECK_THAT(text, ContainsSubstring("rank 0: warning: rank 1 waits for rank 2 in"));
  CHECK_THAT(text, ContainsSubstring("; rank 2: all_reduce #3 (sum of 10 float32)"));
  CHECK(text.find("waits for rank 2") == text.rfind("waits for rank 2"));
}

TEST_CASE("a barrier past its deadline lists all missing ranks on every rank", "[comm][multirank]") {
  const auto failures = run_ranks_for<Failure>(5, [](JobContext context) {
    const bool is_missing = context.rank == 1 || context.rank == 3;
    if (!is_missing) enter(context, 0, {.sequence = 0, .collective = Collective::kBarrier});
    meet(context, "entered");
    if (context.rank == 4) context.control->abort({FailureKind::kTimeout, -1, "rank 4: barrier #0: too late"});
    return verdict(context);
  });
  for (const Failure& failure : failures) {
    CHECK(failure.kind == FailureKind::kTimeout);
    CHECK(failure.message ==
          "rank 4: barrier #0: too late; not entered by rank 1 (has entered nothing), rank 3 (has entered nothing)");
  }
}

TEST_CASE("a timeout in which nobody is missing says that all have entered", "[comm][multirank]") {
  const auto failures = run_ranks_for<Failure>(2, [](JobContext context) {
    enter(context, 0, all_reduce(0));
    meet(context, "entered");
    if (context.rank == 1) context.control->abort({FailureKind::kTimeout, -1, "rank 1: too slow"});
    return verdict(context);
  });
  for (const Failure& failure : failures)
    CHECK_THAT(failure.message, ContainsSubstring("all have entered it [rank 0: "));
}

TEST_CASE("a collective beyond the progress limit fails on every rank and names who is missing", "[comm][multirank]") {
  comm::JobLimits limits = quick_reports();
  limits.progress = 600ms;
  std::string text;
  std::vector<test::RankOutcome> outcomes;
  {
    const test::CapturedStderr captured;
    outcomes = test::run_ranks(
        3,
        [](JobContext context) {
          const int rank = context.rank;
          const auto control = context.control;
          meet(context, "ready");  // ranks 0 and 2 enter long before either has waited for too long
          test::LineProcessGroup group(std::move(context));
          if (rank == 1) (void)control->wait_for_failure(soon());
          group.barrier().synchronize();
        },
        limits);
    text = captured.text();
  }
  CHECK_THAT(text, ContainsSubstring("waiting in barrier #0 for") && ContainsSubstring("; not entered by rank 1"));
  for (const auto& outcome : outcomes) {
    CHECK(outcome.is<TimeoutError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("not entered by rank 1 (has entered nothing)"));
  }
}

TEST_CASE("an abort carries its culprit to every rank", "[comm][multirank]") {
  const auto failures = run_ranks_for<Failure>(3, [](JobContext context) {
    if (context.rank == 2) context.control->abort({FailureKind::kAborted, 2, "rank 2 aborted: no more"});
    return verdict(context);
  });
  for (const Failure& failure : failures) {
    CHECK((failure.kind == FailureKind::kAborted && failure.culprit == 2));
    CHECK(failure.message == "rank 2 aborted: no more");
  }
}

TEST_CASE("SIGUSR1 makes each rank say what it is in, and what came before", "[comm][multirank]") {
  const test::TemporaryFolder folder;
  std::string text;
  {
    const test::CapturedStderr captured;
    (void)run_ranks_for<int>(2, [&](JobContext context) {
      comm::FlightRecorder recorder(folder.path().string(), context.rank, 2, 0);
      context.flight_recorder = std::shared_ptr<comm::FlightRecorder>(&recorder, [](auto*) {});
      context.generation = 1;  // a control plane of its own, which knows the recorder
      comm::ControlPlane control(context, soon());
      recorder.update(recorder.add(0, all_reduce(6), std::source_location::current()), comm::FlightState::kDone);
      control.note(0, all_reduce(7), comm::CallStep::kIssued);
      control.note(0, all_reduce(7), comm::CallStep::kStarted);
      meet(context, "ready");
      if (context.rank == 0) ::kill(::getpid(), SIGUSR1);
      wait_until_said(captured, concat("rank ", context.rank, ": SIGUSR1: all_reduce #7"));
      meet(context, "end");
      return 0;
    });
    text = captured.text();
  }
  for (const int rank : {0, 1}) {
    CHECK_THAT(text, ContainsSubstring(concat("rank ", rank, ": SIGUSR1: all_reduce #7 (sum of 10 float32)")));
  }
  CHECK_THAT(text, ContainsSubstring("last collectives:\nall_reduce #6 (sum of 10 float32) done"));
}
