#include "comm/control/hub/judge.hpp"

#include "comm/fingerprints.hpp"
#include "comm/reports.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using comm::Collective;
using comm::ControlType;
using comm::Decision;
using comm::FailureKind;
using test::all_reduce;
using test::in_call;
using test::in_message;
using test::message;

namespace {

const auto kStart = comm::Judge::Clock::now();

// A judge and what it looks at: a job of some ranks, all of which have joined.
struct Court {
  explicit Court(int world_size) : roster(world_size, 15s, kStart), groups(world_size) {
    for (int rank = 0; rank < world_size; ++rank) roster.join(rank, kStart);
  }
  comm::Roster roster;
  comm::GroupLedger groups;
  comm::Judge judge{comm::JobLimits{.progress_report = 10s}, Deadline::never(), roster, groups};
};

// That all ranks are told a failure, and nothing else is done.
comm::Failure failure_told(const Decision& decision) {
  REQUIRE(decision.messages.size() == 1);
  REQUIRE(decision.messages.front().type == ControlType::kFailure);
  return decision.messages.front().failure;
}

bool is_nothing(const Decision& decision) { return decision.messages.empty() && decision.warnings.empty(); }

bool asks(const Decision& decision) {
  return decision.messages.size() == 1 && decision.messages.front().type == ControlType::kQuery;
}

}  // namespace

TEST_CASE("the judge waits for ranks that have not joined until its deadline, and names them", "[comm]") {
  comm::Roster roster(4, 15s, kStart);
  const comm::GroupLedger groups(4);
  const Deadline deadline = Deadline::after(1h);
  comm::Judge judge({}, deadline, roster, groups);
  roster.join(0, kStart);
  roster.join(2, kStart);
  CHECK(is_nothing(judge.check_deadlines(deadline.when() - 1s)));
  const comm::Failure failure = failure_told(judge.check_deadlines(deadline.when()));
  CHECK(failure.kind == FailureKind::kTimeout);
  CHECK_THAT(failure.message, ContainsSubstring("missing: ranks 1, 3"));
  CHECK(is_nothing(judge.check_deadlines(deadline.when() + 1h)));
}

TEST_CASE("the first failure wins", "[comm]") {
  Court court(2);
  CHECK(failure_told(court.judge.fail({FailureKind::kDied, 1, "rank 1 died"})).culprit == 1);
  CHECK(is_nothing(court.judge.fail({FailureKind::kDied, 0, "rank 0 died"})));
  CHECK(is_nothing(court.judge.inquire({FailureKind::kMismatch, -1, "they differ"}, 0, kStart)));
  REQUIRE(court.judge.failure());
  CHECK(court.judge.failure()->message == "rank 1 died");
}

TEST_CASE("a silent rank is named", "[comm]") {
  Court court(2);
  court.roster.hear(0, kStart + 10s);
  CHECK(is_nothing(court.judge.look(kStart + 15s)));
  const comm::Failure failure = failure_told(court.judge.look(kStart + 16s));
  CHECK(failure.kind == FailureKind::kSilent);
  CHECK(failure.message == "rank 1 is silent for 16.0 s (stopped, or its host unreachable)");
}

TEST_CASE("ranks in different collectives are asked where they are before it is told who differs", "[comm]") {
  Court court(3);
  court.groups.report(0, in_call(0, all_reduce(4), 100ms));
  court.groups.report(1, in_call(0, all_reduce(4, 11), 100ms));
  CHECK(asks(court.judge.look(kStart)));
  CHECK(is_nothing(court.judge.look(kStart)));
  court.groups.report(2, in_call(0, all_reduce(4), 10ms));
  for (const int rank : {0, 1}) court.judge.note_answer(rank);
  CHECK(is_nothing(court.judge.check_deadlines(kStart + 1ms)));
  court.judge.note_answer(2);
  const comm::Failure failure = failure_told(court.judge.check_deadlines(kStart + 1ms));
  CHECK(failure.kind == FailureKind::kMismatch);
  CHECK(failure.culprit == 1);
  CHECK(failure.message ==
        "ranks called different collectives: rank 0 all_reduce #4 (sum of 10 float32), rank 1 all_reduce #4 (sum of 11 "
        "float32) [rank 0: all_reduce #4 (sum of 10 float32); rank 1: all_reduce #4 (sum of 11 float32); rank 2: "
        "all_reduce #4 (sum of 10 float32)]; rank 1 differs from the others");
}

TEST_CASE("a rank that does not answer the question does not hold up the verdict", "[comm]") {
  Court court(3);
  court.groups.report(0, in_call(0, all_reduce(4), 20s));
  court.groups.report(1, in_call(0, all_reduce(4), 20s));
  court.groups.report(2, in_call(0, all_reduce(3), 21s));
  CHECK(asks(court.judge.on_abort(0, {FailureKind::kTimeout, -1, "not done"}, kStart)));
  CHECK(is_nothing(court.judge.on_abort(0, {FailureKind::kAborted, 0, "rank 0 leaves"}, kStart)));
  court.judge.note_answer(0);
  court.judge.note_answer(1);
  CHECK(is_nothing(court.judge.check_deadlines(kStart + 329ms)));  // 300 ms, and 10 ms for each rank
  const comm::Failure failure = failure_told(court.judge.check_deadlines(kStart + 330ms));
  CHECK(failure.culprit == 2);
  CHECK(failure.message ==
        "not done; not entered by rank 2 (does not answer; its last report: last entered all_reduce #3 (sum of 10 "
        "float32))");
}

TEST_CASE("a collective that takes long is reported once, with the ranks that have not entered it", "[comm]") {
  Court court(2);
  court.groups.report(0, in_call(0, all_reduce(4), 9s));
  CHECK(is_nothing(court.judge.look(kStart)));
  court.groups.report(0, in_call(0, all_reduce(4), 10s));
  const Decision decision = court.judge.look(kStart);
  CHECK(decision.messages.empty());
  REQUIRE(decision.warnings.size() == 1);
  CHECK(decision.warnings.front() ==
        "waiting in all_reduce #4 (sum of 10 float32) for 10.0 s; not entered by rank 1 (has entered nothing)");
  court.groups.report(0, in_call(0, all_reduce(4), 11s));
  CHECK(is_nothing(court.judge.look(kStart)));
}

TEST_CASE("a rank that left while another waits for it is to blame", "[comm]") {
  Court court(2);
  court.groups.leave(1, in_call(0, all_reduce(3), 0s));
  SECTION("in a collective") {
    court.groups.report(0, in_call(0, all_reduce(4), 0s));
    const comm::Failure failure = failure_told(court.judge.look(kStart));
    CHECK(failure.kind == FailureKind::kLeft);
    CHECK(failure.message == "rank 1 has left without entering all_reduce #4");
  }
  SECTION("in a message") {
    court.groups.report(0, in_message(0, {message(Collective::kRecv, 0, 1), 0s}));
    const comm::Failure failure = failure_told(court.judge.look(kStart));
    CHECK(failure.culprit == 1);
    CHECK_THAT(failure.message, ContainsSubstring("rank 1 has left while rank 0 waits for it in recv #0"));
  }
}
