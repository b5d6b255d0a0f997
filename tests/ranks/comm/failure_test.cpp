// The message to every rank when one of them fails. A rank "dies" here by closing its control connection without a
// goodbye, as the kernel does for a killed process; tests/integration kills real ones.
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "comm/control/control_plane.hpp"
#include "comm/fingerprints.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "comm/line_process_group.hpp"
#include "comm/played_ranks.hpp"
#include "net/handshake.hpp"
#include "store/store.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/soon.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using comm::Failure;
using comm::FailureKind;
using comm::host_buffer;
using comm::JobContext;
using test::LineProcessGroup;
using test::run_ranks;
using test::run_ranks_for;

namespace {

void all_reduce_int64(LineProcessGroup& group, std::size_t count = 4, const comm::CollectiveOptions& options = {}) {
  std::vector<std::int64_t> values(count, 1);
  group.all_reduce(host_buffer(std::span(values)), comm::ReduceOp::kSum, options).synchronize();
}

// On a busy machine a healthy rank may get no processor for half a second: it must not count as silent.
comm::JobLimits quick_limits() {
  comm::JobLimits limits = test::test_limits();
  limits.liveness = 2s;
  return limits;
}

// A job of three of which two ranks call this. Rank 1 joins for the third as well, which says nothing from then on.
JobContext with_mute_rank(JobContext context, net::StreamSocket& mute) {
  context.world_size = 3;
  context.generation = 1;  // a control plane of its own
  std::jthread third;
  if (context.rank == 1) {
    third = std::jthread([&] {
      const auto address = context.store->get("generation/1/control/address", Deadline::after(10s));
      mute = net::connect_authenticated(net::SocketAddress::parse(address), context.token,
                                        {net::Role::kControl, 1, 2, 0}, "hub", Deadline::after(10s));
    });
  }
  auto control = std::make_shared<comm::ControlPlane>(context, Deadline::after(10s));
  if (third.joinable()) third.join();
  context.control = std::move(control);
  return context;
}

}  // namespace

TEST_CASE("a rank that ends with an exception is named on all others", "[comm][multirank]") {
  const auto outcomes = run_ranks(3, [](JobContext context) {
    const int rank = context.rank;
    LineProcessGroup group(std::move(context));
    group.barrier().synchronize();
    if (rank == 1) throw std::runtime_error("this rank's own trouble");
    all_reduce_int64(group);
  });
  CHECK(outcomes[1].message() == "this rank's own trouble");
  for (const int rank : {0, 2}) {
    CHECK(outcomes[rank].is<PeerFailedError>());
    CHECK_THAT(outcomes[rank].message(), ContainsSubstring("rank 1"));
    CHECK_THAT(outcomes[rank].message(), ContainsSubstring(concat("rank ", rank)));
  }
}

TEST_CASE("messages that never came are recorded as failed, whichever of their group failed first",
          "[comm][multirank]") {
  const test::TemporaryFolder folder;
  std::vector<comm::FlightState> states;
  (void)run_ranks(3, [&](JobContext context) {
    const int rank = context.rank;
    const auto store = context.store;
    const auto control = context.control;
    const auto recorder = std::make_shared<comm::FlightRecorder>(folder.path().string(), rank, 3, 0);
    context.flight_recorder = recorder;
    LineProcessGroup group(std::move(context));
    std::array<std::int64_t, 3> values{};
    const auto value = [&](std::size_t place) { return host_buffer(std::span(values).subspan(place, 1)); };
    if (rank == 1) {
      group.send(value(0), 0).synchronize();
      (void)store->get("rank 0 receives", test::soon());
      throw std::runtime_error("this rank's own trouble");
    }
    if (rank == 2) return (void)control->wait_for_failure(test::soon());
    group.group_start();
    for (const int peer : {1, 1, 2}) (void)group.recv(value(static_cast<std::size_t>(peer)), peer);
    comm::Work work = group.group_end();
    for (const auto limit = test::soon(); !limit.has_expired(); std::this_thread::sleep_for(1ms)) {
      if (recorder->record().entries.front().state == comm::FlightState::kRunning) break;
    }
    store->set("rank 0 receives", "");
    try {
      work.synchronize();
    } catch (const Error&) {
    }
    for (const comm::FlightEntry& entry : recorder->record().entries) states.push_back(entry.state);
  });
  using enum comm::FlightState;
  CHECK(states == std::vector{kDone, kFailed, kFailed});
}

TEST_CASE("a rank that leaves cleanly while others wait for it is named", "[comm][multirank]") {
  const auto outcomes = run_ranks(3, [](JobContext context) {
    const int rank = context.rank;
    LineProcessGroup group(std::move(context));
    group.barrier().synchronize();
    if (rank != 2) all_reduce_int64(group);
  });
  CHECK(outcomes[2].ok());
  for (const int rank : {0, 1}) {
    CHECK_THAT(outcomes[rank].message(), ContainsSubstring("rank 2 has left without entering all_reduce #1"));
    CHECK(outcomes[rank].is<PeerFailedError>());
  }
}

TEST_CASE("rank 0 leaving cleanly is named too, though the hub goes with it", "[comm][multirank]") {
  const auto outcomes = run_ranks(2, [](JobContext context) {
    const int rank = context.rank;
    LineProcessGroup group(std::move(context));
    group.barrier().synchronize();
    if (rank == 1) all_reduce_int64(group);
  });
  CHECK(outcomes[0].ok());
  CHECK_THAT(outcomes[1].message(), ContainsSubstring("rank 0"));
  CHECK_FALSE(outcomes[1].ok());
}

TEST_CASE("ranks that finish at different times all leave cleanly", "[comm][multirank]") {
  const auto outcomes = run_ranks(3, [](JobContext context) {
    const int rank = context.rank;
    LineProcessGroup group(std::move(context));
    all_reduce_int64(group);
    std::this_thread::sleep_for(rank * 20ms);
  });
  for (const auto& outcome : outcomes) CHECK(outcome.message().empty());
}

TEST_CASE("different collectives are a mismatch on all ranks that says what each was doing", "[comm][multirank]") {
  const auto outcomes = run_ranks(3, [](JobContext context) {
    const int rank = context.rank;
    LineProcessGroup group(std::move(context));
    group.barrier().synchronize();
    if (rank == 1)
      group.barrier().synchronize();
    else
      all_reduce_int64(group);
  });
  for (const auto& outcome : outcomes) {
    CHECK(outcome.is<MismatchError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("all_reduce #1 (sum of 4 int64)"));
    CHECK_THAT(outcome.message(), ContainsSubstring("rank 1: barrier #1"));
    // In all_reduce #1, or still to enter it: then its last one was the barrier before.
    CHECK_THAT(outcome.message(), ContainsSubstring("rank 2: all_reduce #1") || ContainsSubstring("barrier #0"));
  }
}

TEST_CASE("a rank that destroys its group while others wait in it is named", "[comm][multirank]") {
  const auto outcomes = run_ranks(3, [](JobContext context) {
    const int rank = context.rank;
    const auto control = context.control;
    LineProcessGroup all(std::move(context));
    auto group = all.split(0);
    group->barrier().synchronize();
    if (rank == 1) {
      group.reset();  // alive, and elsewhere
      (void)control->wait_for_failure(Deadline::after(20s));
    } else {
      all_reduce_int64(dynamic_cast<LineProcessGroup&>(*group));
    }
  });
  for (const int rank : {0, 2}) {
    CHECK(outcomes[rank].is<PeerFailedError>());
    CHECK_THAT(outcomes[rank].message(), ContainsSubstring("rank 1"));
  }
}

TEST_CASE("a data connection that breaks between two live ranks is blamed on neither, and names both",
          "[comm][multirank]") {
  std::array<std::shared_ptr<const comm::Failure>, 3> failures;
  const auto outcomes = run_ranks(3, [&](JobContext context) {
    const int rank = context.rank;
    const auto control = context.control;
    LineProcessGroup group(std::move(context));
    group.barrier().synchronize();
    if (rank == 1) {
      group.transport().interrupt();  // as a firewall may
      failures[1] = control->wait_for_failure(Deadline::after(20s));
      return;
    }
    try {
      all_reduce_int64(group);
    } catch (...) {
      failures[static_cast<std::size_t>(rank)] = control->wait_for_failure(Deadline::after(20s));
      throw;
    }
  });
  for (const auto& failure : failures) {
    REQUIRE(failure);
    CHECK(failure->culprit == -1);
    CHECK_THAT(failure->message, ContainsSubstring("the connection between rank 0 and rank 1 broke"));
  }
  CHECK(outcomes[0].is<IoError>());
  CHECK(outcomes[2].is<PeerFailedError>());
}

TEST_CASE("a message that arrives damaged from a live rank names both, and blames neither",
          "[comm][multirank][deliberate_race]") {
  std::array<std::shared_ptr<const comm::Failure>, 2> failures;
  std::atomic<bool> is_damaged = false;
  const auto outcomes = run_ranks(2, [&](JobContext context) {
    const int rank = context.rank;
    const auto control = context.control;
    std::vector<std::int64_t> values(std::size_t{8} << 20, 1);  // 64 MiB, more than the system buffers
    LineProcessGroup group(std::move(context));
    group.barrier().synchronize();
    if (rank == 1) {
      comm::Work work = group.all_reduce(host_buffer(std::span(values)));
      const std::uint64_t sent_by_barrier = 1;
      while (group.traffic_sent().messages == sent_by_barrier)
        std::this_thread::sleep_for(1ms);  // its checksum is made
      values.back() = 2;
      is_damaged = true;
    } else {
      while (!is_damaged) std::this_thread::sleep_for(1ms);
    }
    if (rank == 0) {
      try {
        group.all_reduce(host_buffer(std::span(values))).synchronize();
      } catch (const FormatError&) {
        failures[0] = control->wait_for_failure(Deadline::after(20s));
        throw;
      }
    }
    failures[1] = control->wait_for_failure(Deadline::after(20s));
  });
  CHECK(outcomes[0].is<FormatError>());
  for (const auto& failure : failures) {
    REQUIRE(failure);
    CHECK(failure->culprit == -1);
    CHECK_THAT(failure->message, ContainsSubstring("rank 0: all_reduce #1: rank 1 (") && ContainsSubstring("damaged"));
  }
}

TEST_CASE("different counts are a mismatch on all ranks", "[comm][multirank]") {
  const auto outcomes = run_ranks(2, [](JobContext context) {
    const std::size_t count = context.rank == 0 ? 4 : 5;
    LineProcessGroup group(std::move(context));
    all_reduce_int64(group, count);
  });
  for (const auto& outcome : outcomes) {
    CHECK(outcome.is<MismatchError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("of 4 int64") && ContainsSubstring("of 5 int64"));
  }
}

TEST_CASE("a mismatch that no frame shows is found by the hub", "[comm][multirank]") {
  // A broadcast of rank 1 in which rank 1 receives: both ranks wait for each other's frame.
  const auto outcomes = run_ranks(2, [](JobContext context) {
    const auto limits = context.limits;
    const comm::Fingerprint own{.sequence = 0,
                                .collective = comm::Collective::kBroadcast,
                                .dtype = DType::kFloat32,
                                .root = context.rank,
                                .count = 7};
    context.control->note(0, own, comm::CallStep::kIssued);
    context.control->note(0, own, comm::CallStep::kStarted);
    const auto failure = context.control->wait_for_failure(Deadline::after(limits.progress));
    if (failure) std::rethrow_exception(to_exception(*failure, ""));
  });
  for (const auto& outcome : outcomes) {
    CHECK(outcome.is<MismatchError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("7 float32 from rank 0") && ContainsSubstring("from rank 1"));
  }
}

TEST_CASE("a collective past its deadline names on all ranks who has not entered it", "[comm][multirank]") {
  const auto outcomes = run_ranks(3, [](JobContext context) {
    const int rank = context.rank;
    const auto control = context.control;
    LineProcessGroup group(std::move(context));
    group.barrier().synchronize();
    if (rank == 1) {  // busy elsewhere until the others have given up
      (void)control->wait_for_failure(Deadline::after(20s));
      group.barrier().synchronize();
    } else {
      // Long enough for both to enter it.
      all_reduce_int64(group, 4, {.stream = nullptr, .deadline = Deadline::after(1s)});
    }
  });
  for (const auto& outcome : outcomes) {
    CHECK(outcome.is<TimeoutError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("not entered by rank 1 (last entered barrier #0)"));
  }
}

TEST_CASE("abort from another thread ends a waiting collective on every rank", "[comm][multirank]") {
  const auto outcomes = run_ranks(2, [](JobContext context) {
    const int rank = context.rank;
    LineProcessGroup group(std::move(context));
    group.barrier().synchronize();
    if (rank == 1) {
      group.abort("a test wants it");
      all_reduce_int64(group);
    } else {
      all_reduce_int64(group);
    }
  });
  for (const auto& outcome : outcomes) {
    CHECK(outcome.is<PeerFailedError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("rank 1 aborted: a test wants it"));
  }
}

TEST_CASE("the error of a dropped Work is thrown by the next call, and again by the one after", "[comm][multirank]") {
  const auto messages = run_ranks_for<std::string>(2, [](JobContext context) {
    const int rank = context.rank;
    const auto control = context.control;
    LineProcessGroup group(std::move(context));
    std::int64_t value = 1;
    const std::span values(&value, static_cast<std::size_t>(rank));  // rank 0 reduces none, rank 1 one
    group.all_reduce(host_buffer(values));
    (void)control->wait_for_failure(Deadline::after(20s));
    std::string messages_seen;
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        group.barrier().synchronize();
      } catch (const MismatchError&) {
        messages_seen += "mismatch ";
      }
    }
    return messages_seen;
  });
  CHECK(messages == std::vector<std::string>(2, "mismatch mismatch "));
}

TEST_CASE("destroying a group with a collective in flight does not hang when its rank has failed", "[comm]") {
  const auto outcomes = run_ranks(2, [](JobContext context) {
    const int rank = context.rank;
    std::vector<std::int64_t> values(4);  // outlives the group, whose worker may be sending it
    LineProcessGroup group(std::move(context));
    comm::Work work;
    if (rank == 1) {
      work = group.all_reduce(host_buffer(std::span(values)));
      throw std::runtime_error("trouble");
    }
    std::this_thread::sleep_for(50ms);
    all_reduce_int64(group, 3);  // a mismatch, or the news of rank 1's end
  });
  CHECK(outcomes[1].message() == "trouble");
  CHECK_FALSE(outcomes[0].ok());
}

TEST_CASE("a rank whose heartbeats stop is named as silent", "[comm][multirank]") {
  const auto failures = run_ranks_for<Failure>(
      2,
      [](const JobContext& context) {
        net::StreamSocket mute;
        return test::verdict(with_mute_rank(context, mute));
      },
      quick_limits());
  for (const Failure& failure : failures) {
    CHECK(failure.kind == FailureKind::kSilent);
    CHECK_THAT(failure.message, ContainsSubstring("rank 2 is silent for"));
  }
}

TEST_CASE("a rank that does not answer before a verdict is said not to", "[comm][multirank]") {
  for (const bool is_mismatch : {false, true}) {
    CAPTURE(is_mismatch);
    const auto failures = run_ranks_for<Failure>(2, [&](const JobContext& context) {
      net::StreamSocket mute;
      const JobContext three = with_mute_rank(context, mute);
      test::enter(three, 0, test::all_reduce(0, is_mismatch && context.rank == 1 ? 11 : 10));
      if (!is_mismatch && context.rank == 1) three.control->abort({FailureKind::kTimeout, -1, "waited long enough"});
      return test::verdict(three);
    });
    for (const Failure& failure : failures) {
      CHECK_THAT(failure.message,
                 ContainsSubstring(is_mismatch ? "rank 2: does not answer; its last report: "
                                               : "rank 2 (does not answer; its last report: has entered "));
    }
  }
}
