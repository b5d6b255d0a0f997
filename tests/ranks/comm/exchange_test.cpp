// Ranks that wait for each other's message in a circle are told how to exchange, and none of them is accused.
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "comm/control/control_plane.hpp"
#include "comm/fingerprints.hpp"
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
using comm::JobContext;
using test::message;
using test::run_ranks_for;

namespace {

struct Pair {
  Collective direction;
  int peer;
};

// All ranks wait for each other, by the store alone.
void meet(const JobContext& context) {
  context.store->add("met", 1);
  for (const auto deadline = test::soon(); context.store->add("met", 0) < context.world_size;) {
    if (deadline.has_expired()) throw TimeoutError("ranks did not meet");
    std::this_thread::sleep_for(5ms);
  }
}

// The message to all ranks after rank 1's deadline has passed, while rank r is in pairs[r].
std::vector<Failure> verdicts(const std::vector<Pair>& pairs) {
  return run_ranks_for<Failure>(static_cast<int>(pairs.size()), [&](JobContext context) {
    const Pair& own = pairs[static_cast<std::size_t>(context.rank)];
    context.control->note(0, message(own.direction, 0, own.peer), comm::CallStep::kStarted);
    meet(context);
    if (context.rank == 1) context.control->abort({comm::FailureKind::kTimeout, -1, "rank 1: past its deadline"});
    return test::verdict(context);
  });
}

constexpr const char* kAdvice = "between group_start() and group_end()";

}  // namespace

TEST_CASE("of ranks that all send first, or all receive first, none is the culprit", "[comm][multirank]") {
  const auto send = Collective::kSend, recv = Collective::kRecv;
  const auto pairs = GENERATE_COPY(std::vector<Pair>{{send, 1}, {send, 0}}, std::vector<Pair>{{recv, 1}, {recv, 0}},
                                   std::vector<Pair>{{send, 1}, {send, 2}, {send, 0}},
                                   std::vector<Pair>{{send, 2}, {send, 2}, {send, 0}});  // rank 1 waits for a circle
  for (const Failure& failure : verdicts(pairs)) {
    CHECK(failure.culprit == -1);
    CHECK_THAT(failure.message, ContainsSubstring("in a circle") && ContainsSubstring(kAdvice));
  }
}

TEST_CASE("a rank that does not come to its message is the culprit, and no circle is seen", "[comm][multirank]") {
  // Rank 2's message is for rank 0, which has begun its part of that one.
  const auto pairs = std::vector<Pair>{{Collective::kRecv, 2}, {Collective::kSend, 2}, {Collective::kSend, 0}};
  for (const Failure& failure : verdicts(pairs)) {
    CHECK(failure.culprit == 2);
    CHECK_THAT(failure.message, !ContainsSubstring("group_start"));
  }
}

TEST_CASE("two ranks that send much before they receive are told of group_start(), which works", "[comm][multirank]") {
  constexpr std::size_t kCount = std::size_t{1} << 22;  // 32 MiB: more than what sockets hold
  const bool is_grouped = GENERATE(false, true);
  const auto outcomes = test::run_ranks(2, [&](JobContext context) {
    const int peer = 1 - context.rank;
    test::LineProcessGroup line(std::move(context));
    comm::ProcessGroup& group = line;
    std::vector<std::int64_t> own(kCount, group.rank()), theirs(kCount);
    meet(group.context());  // the deadline begins once both can send
    comm::CollectiveOptions options;
    if (!is_grouped) options.deadline = Deadline::after(700ms);
    if (is_grouped) group.group_start();
    comm::Work sending = group.send(comm::host_buffer(std::span(own)), peer, options);
    if (!is_grouped) sending.synchronize();
    comm::Work receiving = group.recv(comm::host_buffer(std::span(theirs)), peer, options);
    if (is_grouped) group.group_end().synchronize();
    receiving.synchronize();
    if (theirs.back() != peer) throw Error("another rank's elements");
  });
  for (const auto& outcome : outcomes) {
    if (is_grouped) {
      CHECK(outcome.message() == "");
    } else {
      CHECK(outcome.is<TimeoutError>());
      CHECK_THAT(outcome.message(),
                 ContainsSubstring("in send #0 (4194304 int64 to rank") && ContainsSubstring(kAdvice));
    }
  }
}
