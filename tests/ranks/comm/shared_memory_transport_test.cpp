#include "comm/shared_memory/shared_memory_transport.hpp"

#include <thread>

#include "comm/control/control_plane.hpp"
#include "comm/fingerprint.hpp"
#include "shared_memory_ranks.hpp"
#include "store/store.hpp"
#include "support/catch.hpp"
#include "support/stay_away.hpp"
#include "transport_checks.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using comm::JobContext;
using comm::SharedMemoryTransport;
using test::exchange_all;
using test::header_of;
using test::message;
using test::run_ranks;
using test::run_ranks_for;
using test::shared_memory_of;
using test::soon;
using test::stay_away;

TEST_CASE("messages through shared memory arrive whole and in order, all ranks sending at once", "[comm][multirank]") {
  for (const int world_size : {2, 3, 5, 8}) {
    const auto problems = run_ranks_for<std::string>(world_size, [&](const JobContext& context) {
      SharedMemoryTransport transport(shared_memory_of(context), soon());
      return exchange_all(transport, context.rank, world_size);
    });
    for (const std::string& problem : problems) CHECK(problem == "");
  }
}

TEST_CASE("of many ranks only those that send to each other have queues that take memory", "[comm][multirank]") {
  constexpr int kRanks = 100;  // all queues together would have 100 * 100 * 8 KiB
  const auto used = run_ranks_for<std::uint64_t>(kRanks, [](const JobContext& context) {
    const auto memory = shared_memory_of(context);
    SharedMemoryTransport transport(memory, soon());
    const int right = (context.rank + 1) % kRanks, left = (context.rank + kRanks - 1) % kRanks;
    std::vector<std::byte> own(20000, static_cast<std::byte>(context.rank)), theirs(own.size());  // more than a queue
    transport.send(right, header_of(0), own, soon());
    transport.receive(left, header_of(0), theirs, soon());
    transport.flush(soon());
    if (theirs != std::vector<std::byte>(own.size(), static_cast<std::byte>(left))) throw Error("other bytes");
    (void)memory->all_gather({}, "the end", soon());
    return memory->reserved_bytes();
  });
  // A queue of 8 KiB and its counters lie on four pages at most; some more for doorbells and the first page.
  for (const std::uint64_t bytes : used) CHECK(bytes <= kRanks * 16384 + (1 << 16));
}

TEST_CASE("shared memory counts what it sends", "[comm][multirank]") {
  const auto counts = run_ranks_for<comm::Traffic>(2, [](const JobContext& context) {
    SharedMemoryTransport transport(shared_memory_of(context), soon());
    (void)exchange_all(transport, context.rank, 2);
    return transport.sent();
  });
  for (const comm::Traffic& traffic : counts) {
    CHECK(traffic.payload_bytes == 0 + 1 + 63 + 64 + 65 + 1000 + 300000 + 1 + 0 + 1000003 + 7);
    CHECK(traffic.messages == 11);
    CHECK(traffic.header_bytes == 11 * 64);
  }
}

TEST_CASE("a long ping-pong through shared memory loses nothing", "[comm][multirank]") {
  const auto problems = run_ranks_for<std::string>(2, [](const JobContext& context) -> std::string {
    SharedMemoryTransport transport(shared_memory_of(context), soon());
    const int peer = 1 - context.rank;
    for (std::uint64_t i = 0; i < 20000; ++i) {
      std::uint64_t number = i;
      if (context.rank == 0) transport.send(peer, header_of(i), std::as_bytes(std::span(&number, 1)), soon());
      std::uint64_t arrived = 0;
      transport.receive(peer, header_of(i), std::as_writable_bytes(std::span(&arrived, 1)), soon());
      if (arrived != i) return concat("round ", i, ": ", arrived);
      if (context.rank == 1) transport.send(peer, header_of(i), std::as_bytes(std::span(&number, 1)), soon());
      transport.flush(soon());
    }
    return "";
  });
  for (const std::string& problem : problems) CHECK(problem == "");
}

TEST_CASE("a message of another size, or of another collective, is an error", "[comm][multirank]") {
  const auto outcomes = run_ranks(3, [](const JobContext& context) {
    SharedMemoryTransport transport(shared_memory_of(context), soon());
    const std::vector<std::byte> content(100);
    if (context.rank == 0) {
      transport.send(1, header_of(0), content, soon());
      transport.send(2, header_of(0), content, soon());
      return transport.flush(soon());
    }
    std::vector<std::byte> room(context.rank == 1 ? 99 : 100);
    transport.receive(0, header_of(context.rank == 1 ? 0 : 5), room, soon());
  });
  CHECK(outcomes[0].ok());
  CHECK(outcomes[1].is<FormatError>());
  CHECK_THAT(outcomes[1].message(), ContainsSubstring("rank 0 sent a payload of 100 bytes, but 99"));
  CHECK(outcomes[2].is<MismatchError>());
  CHECK_THAT(outcomes[2].message(), ContainsSubstring("rank 2 barrier #5, rank 0 barrier #0"));
}

TEST_CASE("waiting for a message or for room ends at the deadline", "[comm][multirank]") {
  const auto full = run_ranks(2, [](const JobContext& context) {
    SharedMemoryTransport transport(shared_memory_of(context), soon());
    if (context.rank == 0) return stay_away(context);
    const std::vector<std::byte> content(1 << 20);
    transport.send(0, header_of(0), content, soon());
    transport.flush(Deadline::after(100ms));
  });
  CHECK(full[1].is<TimeoutError>());
  CHECK_THAT(full[1].message(), ContainsSubstring("rank 0 took no data"));

  const auto silent = run_ranks(2, [](const JobContext& context) {
    SharedMemoryTransport transport(shared_memory_of(context), soon());
    if (context.rank == 1) return stay_away(context);
    std::vector<std::byte> content(10);
    transport.receive(1, header_of(0), content, Deadline::after(200ms));
  });
  CHECK(silent[0].is<TimeoutError>());
  CHECK_THAT(silent[0].message(), ContainsSubstring("no data from rank 1") && ContainsSubstring("0 of 64 bytes"));
}

TEST_CASE("a deadline in shared memory counts the whole message, of which some has moved", "[comm][multirank]") {
  const auto outcomes = run_ranks(2, [](const JobContext& context) {
    SharedMemoryTransport transport(shared_memory_of(context), soon());
    std::vector<std::byte> content(1 << 20);  // more than a queue
    if (context.rank == 1) {
      (void)context.store->get("sent", soon());
      try {
        transport.receive(0, header_of(0), content, Deadline::after(0s));
      } catch (const TimeoutError&) {
        context.store->set("taken", "");
        (void)context.control->wait_for_failure(soon());
        throw;
      }
      return;
    }
    transport.send(1, header_of(0), content, soon());
    context.store->set("sent", "");
    (void)context.store->get("taken", soon());
    transport.flush(Deadline::after(0s));
  });
  CHECK(outcomes[1].is<TimeoutError>());
  CHECK_THAT(outcomes[1].message(), ContainsSubstring("the data from rank 0 did not all arrive within"));
  CHECK(outcomes[0].is<TimeoutError>());
  CHECK_THAT(outcomes[0].message(), ContainsSubstring("rank 1 did not take all data within"));
}

TEST_CASE("a rank that dies ends a wait for its message", "[comm][multirank]") {
  const auto outcomes = run_ranks(3, [](const JobContext& context) {
    SharedMemoryTransport transport(shared_memory_of(context), soon());
    std::vector<std::byte> content(10);
    if (context.rank == 1) throw std::runtime_error("out of luck");
    transport.receive(1, header_of(0), content, soon());
  });
  for (const int rank : {0, 2}) {
    CHECK(outcomes[rank].is<PeerFailedError>());
    CHECK_THAT(outcomes[rank].message(), ContainsSubstring("rank 1"));
  }
}

TEST_CASE("an interrupt ends a wait for a message", "[comm][multirank]") {
  const auto outcomes = run_ranks(2, [](const JobContext& context) {
    SharedMemoryTransport transport(shared_memory_of(context), soon());
    std::vector<std::byte> content(10);
    if (context.rank == 1) return stay_away(context);
    const std::jthread other([&] {
      std::this_thread::sleep_for(50ms);
      transport.interrupt();
    });
    transport.receive(1, header_of(0), content, soon());
  });
  CHECK(outcomes[0].is<IoError>());
}

TEST_CASE("a rank sends no messages to itself or to strangers", "[comm]") {
  const auto outcomes = run_ranks(2, [](const JobContext& context) {
    SharedMemoryTransport transport(shared_memory_of(context), soon());
    transport.send(context.rank == 0 ? 0 : 2, header_of(0), {}, soon());
  });
  for (const auto& outcome : outcomes) CHECK(outcome.is<ContractError>());
}
