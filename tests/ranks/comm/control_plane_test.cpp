#include "comm/control/control_plane.hpp"

#include <thread>

#include "base/error.hpp"
#include "comm/control/member.hpp"
#include "comm/control/wire.hpp"
#include "comm/get_or_fail.hpp"
#include "comm/line_process_group.hpp"
#include "net/handshake.hpp"
#include "store/tcp_store.hpp"
#include "support/catch.hpp"
#include "support/flood.hpp"
#include "support/run_ranks.hpp"
#include "support/soon.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using comm::Collective;
using comm::ControlMessage;
using comm::ControlPlane;
using comm::Fingerprint;
using comm::JobContext;
using test::soon;

namespace lockstep::comm {

// Counts the messages that a rank has not sent yet.
class OutboxProbe {
 public:
  static int count(const ControlPlane& control) {
    const std::scoped_lock lock(control.shared_->mutex);
    return static_cast<int>(control.shared_->outbox.size());
  }
};

}  // namespace lockstep::comm

namespace {

// A job of two ranks whose second is played by the test, over a bare connection.
struct HalfPlayedJob {
  explicit HalfPlayedJob(const comm::JobLimits& limits = test::test_limits()) {
    context.world_size = 2;
    context.token = net::make_token();
    context.limits = limits;
    server = std::make_unique<store::TcpStoreServer>(net::SocketAddress{}, context.token);
    context.store = std::make_shared<store::TcpStore>(server->address(), context.token, 0, 0, soon());
    std::jthread connecting([this] {
      store::TcpStore own(server->address(), context.token, 0, 1, soon());
      const auto address = own.get("generation/0/control/address", soon());
      played = net::connect_authenticated(net::SocketAddress::parse(address), context.token,
                                          {net::Role::kControl, 0, 1, 0}, "hub", soon());
    });
    control = std::make_unique<ControlPlane>(context, soon());
  }

  [[nodiscard]] std::string failure_message() const {
    const auto failure = control->wait_for_failure(soon());
    return failure ? failure->message : "none";
  }

  void send(const ControlMessage& message) {
    net::send_frame(played, {.type = net::FrameType::kControl, .source_rank = 1}, comm::encode(message), soon());
  }

  JobContext context;
  std::unique_ptr<store::TcpStoreServer> server;
  net::StreamSocket played;
  std::unique_ptr<ControlPlane> control;
};

}  // namespace

TEST_CASE("a connection that closes without a goodbye is a death, by name", "[comm]") {
  HalfPlayedJob job;
  job.played.close();
  CHECK(job.failure_message() == "rank 1 died: its control connection closed");
  CHECK(job.control->failure()->culprit == 1);
}

TEST_CASE("a connection that closes after a goodbye is none", "[comm]") {
  HalfPlayedJob job;
  job.send({comm::ControlType::kGoodbye, {}, {}});
  job.played.close();
  CHECK(job.control->wait_for_failure(Deadline::after(300ms)) == nullptr);
}

TEST_CASE("a rank that floods the hub does not keep the others from it", "[comm]") {
  HalfPlayedJob job;
  const auto status = comm::encode(ControlMessage{.type = comm::ControlType::kStatus, .status = {}, .failure = {}});
  test::Flood flood(job.played, {.type = net::FrameType::kControl, .source_rank = 1}, status);
  job.control->abort({comm::FailureKind::kAborted, 0, "rank 0 has other plans"});
  CHECK(job.failure_message() == "rank 0 has other plans");
  CHECK(flood.end());
}

TEST_CASE("a rank that sends nonsense is a failure by name, not a crash", "[comm]") {
  HalfPlayedJob job;
  const std::vector<std::byte> nonsense(20, std::byte{0xEE});
  net::send_frame(job.played, {.type = net::FrameType::kControl}, nonsense, soon());
  CHECK_THAT(job.failure_message(), ContainsSubstring("rank 1 sent nonsense on its control connection"));
  CHECK(job.control->failure()->culprit == 1);
}

TEST_CASE("a message about ranks that do not exist, or that only the hub sends, is nonsense too", "[comm]") {
  using comm::ControlType;
  const auto failure_after = [](const ControlMessage& message) {
    HalfPlayedJob job;
    job.send(message);
    ControlMessage status{.type = ControlType::kStatus, .status = {}, .failure = {}};  // makes the hub use the list
    status.status[7].running = Fingerprint{.sequence = 1};
    try {
      job.send(status);
    } catch (const IoError&) {  // it has closed the connection
    }
    return job.failure_message();
  };
  for (const std::vector<int>& members : {std::vector{1, 2}, {1, -1}, {1 << 30, 1}, {1, 0, 1}}) {
    const ControlMessage group{
        .type = ControlType::kGroup, .status = {}, .failure = {}, .group = 7, .members = members};
    CHECK_THAT(failure_after(group), ContainsSubstring("rank 1 sent nonsense") && ContainsSubstring("with member"));
  }
  ControlMessage abort{.type = ControlType::kAbort, .status = {}, .failure = {}};
  abort.failure = {comm::FailureKind::kAborted, 2, "it was rank 2"};
  CHECK_THAT(failure_after(abort), ContainsSubstring("rank 1 sent nonsense") && ContainsSubstring("of rank 2"));
  for (const ControlType type : {ControlType::kReady, ControlType::kHeartbeat, ControlType::kFailure}) {
    CHECK_THAT(failure_after({.type = type, .status = {}, .failure = {}}), ContainsSubstring("rank 1 sent nonsense"));
  }
}

TEST_CASE("callbacks are called once, and not after they are taken back", "[comm]") {
  HalfPlayedJob job;
  std::atomic<int> kept = 0, removed = 0;
  (void)job.control->subscribe([&](const comm::Failure&) { ++kept; });
  job.control->unsubscribe(job.control->subscribe([&](const comm::Failure&) { ++removed; }));
  job.control->abort({comm::FailureKind::kAborted, 0, "first"});
  CHECK(job.failure_message() == "first");
  job.control->abort({comm::FailureKind::kAborted, 0, "second"});
  int at_once = 0;
  const int late = job.control->subscribe([&](const comm::Failure& failure) { at_once += failure.message == "first"; });
  job.control->unsubscribe(late);
  CHECK(kept == 1);
  CHECK(removed == 0);
  CHECK(at_once == 1);
}

TEST_CASE("control messages read what they write and refuse everything shorter", "[comm]") {
  ControlMessage message{comm::ControlType::kAbort, {}, {comm::FailureKind::kTimeout, 3, "why"}};
  message.status[2].issued = {.sequence = 9, .collective = Collective::kAllReduce, .dtype = DType::kFloat32};
  message.status[2].running = Fingerprint{.sequence = 8, .collective = Collective::kBroadcast, .root = 4, .count = 10};
  message.status[2].running_for = 1234ms;
  const auto bytes = comm::encode(message);
  const ControlMessage read = comm::decode_control(bytes);
  CHECK(read.failure.message == "why");
  CHECK(read.failure.culprit == 3);
  CHECK(read.status.at(2).issued == message.status[2].issued);
  CHECK(read.status.at(2).running == message.status[2].running);
  CHECK(read.status.at(2).running_for == 1234ms);
  for (std::size_t count = 0; count < bytes.size(); ++count) {
    CHECK_THROWS_AS(comm::decode_control(std::span(bytes).first(count)), FormatError);
  }
}

TEST_CASE("a fingerprint survives its sixteen bytes and says what it is", "[comm]") {
  const Fingerprint sum{.sequence = 14,
                        .collective = Collective::kAllReduce,
                        .op = comm::ReduceOp::kMean,
                        .dtype = DType::kFloat32,
                        .count = 1000};
  CHECK(comm::from_tag(14, comm::to_tag(sum)) == sum);
  CHECK(comm::describe(sum) == "all_reduce #14 (mean of 1000 float32)");
  Fingerprint other = sum;
  other.count = 1001;
  CHECK(comm::to_tag(other) != comm::to_tag(sum));
  net::FrameTag garbage{};
  garbage[0] = std::byte{99};
  CHECK_THROWS_AS(comm::from_tag(0, garbage), FormatError);
}

namespace {

net::StreamSocket connect_as(int rank, const JobContext& context, const net::SocketAddress& hub) {
  return net::connect_authenticated(hub, context.token, {net::Role::kControl, 0, rank, 0}, "hub", soon());
}

}  // namespace

TEST_CASE("ranks that do not join in time are named to all that have", "[comm][multirank]") {
  const auto outcomes = test::run_ranks(2, [](JobContext context) {
    context.world_size = 3;                                    // the third never comes
    context.generation = 1;                                    // a control plane of its own
    const ControlPlane control(context, Deadline::after(2s));  // both have come by then
  });
  for (const auto& outcome : outcomes) {
    CHECK(outcome.is<TimeoutError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("; missing: rank 2"));
  }
}

TEST_CASE("a rank that joins late is told what has gone wrong before", "[comm]") {
  const std::string token = net::make_token();
  store::TcpStoreServer server({}, token);
  JobContext context;
  context.world_size = 3;
  context.token = token;
  context.limits = test::test_limits();
  context.store = std::make_shared<store::TcpStore>(server.address(), token, 0, 0, soon());
  std::string error_of_rank_0;
  std::jthread rank_0([&] {
    try {
      const ControlPlane control(context, soon());
    } catch (const PeerFailedError& error) {
      error_of_rank_0 = error.what();
    }
  });
  store::TcpStore store(server.address(), token, 0, 1, soon());
  const auto hub = net::SocketAddress::parse(store.get("generation/0/control/address", soon()));
  connect_as(1, context, hub).close();
  std::this_thread::sleep_for(200ms);  // rank 0 has been told
  net::StreamSocket late = connect_as(2, context, hub);
  const auto frame = net::receive_frame(late, {comm::kMaxControlBytes, 0}, soon());
  const ControlMessage told = comm::decode_control(frame.payload);
  late.close();
  rank_0.join();
  CHECK(told.type == comm::ControlType::kFailure);
  CHECK(told.failure.message == "rank 1 died: its control connection closed");
  CHECK_THAT(error_of_rank_0, ContainsSubstring("rank 1 died"));
}

TEST_CASE("waiting for a rank's word ends with its failure, or names what was waited for", "[comm][multirank]") {
  const auto outcomes = test::run_ranks(2, [](const JobContext& context) {
    if (context.rank == 0) {
      context.control->abort({comm::FailureKind::kAborted, 0, "rank 0 has other plans"});
      (void)context.control->wait_for_failure(soon());
    } else {
      (void)comm::get_or_fail(context, "a word", "rank 1: waiting for a word of rank 0", soon());
    }
  });
  CHECK(outcomes[1].is<PeerFailedError>());
  CHECK(outcomes[1].message() == "rank 1: waiting for a word of rank 0: rank 0 has other plans");

  const auto in_vain = test::run_ranks(3, [](JobContext context) {
    if (context.rank == 2) return (void)context.control->wait_for_failure(soon());  // alive, and makes no group
    context.limits.join = 1s;
    const test::LineProcessGroup group(context);  // rank 0 waits for rank 2, rank 1 only for rank 0
    if (const auto failure = context.control->wait_for_failure(soon())) {
      std::rethrow_exception(to_exception(*failure, ""));
    }
  });
  for (const int rank : {0, 1}) {
    CHECK(in_vain[static_cast<std::size_t>(rank)].is<TimeoutError>());
    CHECK_THAT(in_vain[static_cast<std::size_t>(rank)].message(), ContainsSubstring("rank 2"));
  }

  const auto late = test::run_ranks(2, [](const JobContext& context) {
    if (context.rank == 0) return context.store->set("a word", "late");
    if (comm::get_or_fail(context, "a word", "rank 1: waiting for a word of rank 0", soon()) != "late")
      throw Error("?");
    (void)comm::get_or_fail(context, "another", "rank 1: waiting for another", Deadline::after(50ms));
  });
  CHECK(late[1].is<TimeoutError>());
  CHECK_THAT(late[1].message(), ContainsSubstring("rank 1: waiting for another: not within 0."));
}

TEST_CASE("after rank 0 has left, a rank keeps no messages for it", "[comm][multirank]") {
  const auto kept = test::run_ranks_for<int>(2, [](const JobContext& context) {
    if (context.rank == 0) return 0;
    ControlPlane& control = *context.control;
    const Fingerprint call{.sequence = 0, .collective = Collective::kBarrier};
    control.post(0, call);
    control.wait_until_agreed(0, call, soon());  // returns because rank 0 has left
    for (int group = 1; group <= 1000; ++group) control.post(3 * group, call);
    for (const auto limit = soon(); comm::OutboxProbe::count(control) > 0 && !limit.has_expired();) {
      std::this_thread::sleep_for(1ms);
    }
    return comm::OutboxProbe::count(control);
  });
  CHECK(kept == std::vector<int>(2));
}

TEST_CASE("the exception of a failure names the rank and its call once, also on the rank that reported it", "[comm]") {
  const auto message_with = [](const std::string& context) -> std::string {
    const comm::Failure failure{comm::FailureKind::kTimeout, 1, "rank 0: barrier #3: rank 1 did not join"};
    try {
      std::rethrow_exception(comm::to_exception(failure, context));
    } catch (const TimeoutError& error) {
      return error.what();
    }
  };
  CHECK(message_with("rank 0: barrier #3") == "rank 0: barrier #3: rank 1 did not join");
  CHECK(message_with("rank 2: barrier #3") == "rank 2: barrier #3: rank 0: barrier #3: rank 1 did not join");
  CHECK(message_with("") == "rank 0: barrier #3: rank 1 did not join");
}

TEST_CASE("ranks that leave by an error which all have found tell the others of it, until they go on",
          "[comm][multirank]") {
  bool goes_on = false;
  SECTION("at once") {}
  SECTION("after another collective") { goes_on = true; }
  comm::Failure told;
  const auto outcomes = test::run_ranks(3, [&](JobContext context) {
    context.generation = 1;  // a control plane of its own, which ends here
    context.control = std::make_shared<ControlPlane>(context, soon());
    test::LineProcessGroup group(context);
    group.prepare_common_error("all have seen rank 2 do it", 2);
    if (goes_on) {
      group.barrier().synchronize();
      if (context.rank == 0) context.store->set("rank 0 is through the barrier", "");
      (void)context.store->get("rank 0 is through the barrier", soon());  // or its barrier could hear of the end
    }
    if (context.rank != 0) throw Error("all have seen rank 2 do it");
    if (const auto failure = context.control->wait_for_failure(soon())) told = *failure;
  });
  CHECK(outcomes[1].message() == "all have seen rank 2 do it");
  if (goes_on) {
    CHECK_THAT(told.message, ContainsSubstring("failed: it left while handling an exception"));
    CHECK(told.culprit >= 1);
  } else {
    CHECK(told.message == "all have seen rank 2 do it");
    CHECK(told.culprit == 2);
  }
}
