#include "02_ring_all_reduce/ring_process_group.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "device/cuda_check.hpp"
#include "support/catch.hpp"
#include "support/collective_checks.hpp"
#include "support/every_collective_checks.hpp"
#include "support/run_ranks.hpp"
#include "support/skip.hpp"

using namespace lockstep;
using comm::JobContext;
using Traffic = comm::Traffic;

namespace {

test::GroupFactory ring_with(const ring::RingOptions& options) {
  return [options](JobContext context) { return ring::make_ring_process_group(std::move(context), options); };
}

// Every buffer goes round the ring, however small it is.
const test::GroupFactory kRing = ring_with({.small_bytes = 0});
// Segments of at most 8 elements, so that small counts have many, and a small chunk has empty ones at its end.
const test::GroupFactory kSmallSegments = ring_with({.segment_bytes = 36, .small_bytes = 0});
// The group that users get: small buffers are reduced at rank 0.
const test::GroupFactory kDefaults = ring_with({});

std::vector<Traffic> traffic_of_all_reduce(int world_size, std::size_t count) {
  return test::run_ranks_for<Traffic>(world_size, [count](JobContext context) {
    const auto group = ring::make_ring_process_group(std::move(context), {.small_bytes = 0});
    std::vector<float> values(count);
    group->all_reduce(comm::host_buffer(std::span(values))).synchronize();
    return group->traffic_sent();
  });
}

}  // namespace

TEST_CASE("the ring reduces every dtype and operation correctly at every world size", "[ring][chapter][multirank]") {
  test::check_all_reduce(kRing, 100003);
}
TEST_CASE("the ring reduces correctly in many segments", "[ring][chapter][multirank]") {
  test::check_all_reduce(kSmallSegments, 0);
}
TEST_CASE("the ring's bits are equal on all ranks and in every run", "[ring][chapter][multirank]") {
  test::check_bits_repeat(kRing);
  test::check_bits_repeat(kSmallSegments);
}
TEST_CASE("NaN propagates round the ring", "[ring][chapter][multirank]") { test::check_nan_propagates(kRing); }
TEST_CASE("the ring broadcasts from every root", "[ring][chapter][multirank]") {
  test::check_broadcast(kRing);
  test::check_broadcast(kSmallSegments);
}
TEST_CASE("nobody leaves the ring's barrier before the last has entered", "[ring][chapter][multirank]") {
  test::check_barrier(kRing);
}
TEST_CASE("the ring runs collectives in issue order", "[ring][chapter][multirank]") { test::check_issue_order(kRing); }
TEST_CASE("ranks of a ring that disagree are told who did what", "[ring][chapter][multirank]") {
  test::check_mismatches(kRing);
}
TEST_CASE("ranks of a ring that make the same call with different tags are told so", "[ring][chapter][multirank]") {
  for (const auto& groups : {kRing, kDefaults}) test::check_tags(groups);
}
TEST_CASE("a ring refuses at once the dtypes that it cannot reduce", "[ring][chapter][multirank]") {
  test::check_irreducible(kRing);
}
TEST_CASE("a rank that dies is named on all ranks of a ring", "[ring][chapter][multirank]") {
  test::check_death(kRing);
}
TEST_CASE("a ring's collective ends at its deadline", "[ring][chapter][multirank]") { test::check_deadline(kRing); }

TEST_CASE("the ring's other collectives are right for every dtype, operation, root and count",
          "[ring][chapter][multirank]") {
  test::check_every_collective(kRing);
  test::check_every_collective(kSmallSegments);
}
TEST_CASE("the ring's collectives are right with a million elements", "[ring][chapter][multirank][large]") {
  test::check_every_collective_at_scale(kRing);
}
TEST_CASE("ranks of a ring do not deadlock on messages larger than the buffers", "[ring][chapter][multirank][large]") {
  test::check_larger_than_buffers(kRing);
}
TEST_CASE("the ring works in place", "[ring][chapter][multirank]") { test::check_in_place(kRing); }
TEST_CASE("grouped calls of a ring move at the same time", "[ring][chapter][multirank]") {
  test::check_grouped_calls(kRing);
}
TEST_CASE("the ring reduces several buffers as one", "[ring][chapter][multirank]") { test::check_coalesced(kRing); }
TEST_CASE("after rank 0 of a ring has left, a rank that waits for it is told so", "[ring][chapter][multirank]") {
  test::check_rank_0_leaves(kRing);
}
TEST_CASE("a ring splits into rings", "[ring][chapter][multirank]") { test::check_split(kRing); }
TEST_CASE("rings split from rings do not interfere", "[ring][chapter][multirank]") { test::check_nested_splits(kRing); }
TEST_CASE("the ring moves objects", "[ring][chapter][multirank]") { test::check_objects(kRing); }
TEST_CASE("a ring's deferred calls run in time", "[ring][chapter][multirank]") { test::check_deferred(kRing); }
TEST_CASE("ranks of a ring that disagree in any collective are told who did what", "[ring][chapter][multirank]") {
  test::check_mismatches_of_every_collective(kRing);
}
TEST_CASE("small buffers are reduced correctly at rank 0", "[ring][chapter][multirank]") {
  test::check_all_reduce(kDefaults, 0);
  test::check_bits_repeat(kDefaults);
  test::check_nan_propagates(kDefaults);
  test::check_mismatches(kDefaults);
  test::check_death(kDefaults);
}

TEST_CASE("nobody waits for a ring if rank 0 fails before it takes part", "[ring][chapter][multirank]") {
  const auto outcomes = test::run_ranks(3, [](JobContext context) {
    if (context.rank == 0) throw Error("no ring today");
    (void)ring::make_ring_process_group(std::move(context));
  });
  for (const int rank : {1, 2}) {
    CHECK(outcomes[static_cast<std::size_t>(rank)].is<PeerFailedError>());
    CHECK_THAT(outcomes[static_cast<std::size_t>(rank)].message(), ContainsSubstring("rank 0 failed"));
  }
}

TEST_CASE("a kernel that does not end cannot hold up a collective past its deadline", "[ring][chapter][multirank]") {
  const DeviceType type = accelerator_type();
  if (Device::count(type) == 0) test::skip("there is no device");
  std::atomic<bool> is_released = false;
  const auto hang = [](void* released) {
    for (const auto limit = Deadline::after(std::chrono::seconds(20));
         !*static_cast<std::atomic<bool>*>(released) && !limit.has_expired();) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  std::array<bool, 2> was_in_time{};
  const auto outcomes = test::run_ranks(2, [&](JobContext context) {
    const int rank = context.rank;
    const Device device{type, 0};
    const auto group = kDefaults(std::move(context));
    const auto values = Storage::allocate(8 * sizeof(std::int64_t), device);
    const Stream producer(device);
    if (rank == 1) cuda_check(cudaLaunchHostFunc(producer.handle(), hang, &is_released), "hanging");
    const comm::CollectiveOptions options{.stream = const_cast<Stream*>(&producer),
                                          .deadline = Deadline::after(std::chrono::milliseconds(300))};
    std::exception_ptr error;
    try {
      group->all_reduce({values->data(), 8, DType::kInt64, device, values}, comm::ReduceOp::kSum, options)
          .synchronize();
    } catch (...) {
      error = std::current_exception();
    }
    was_in_time[static_cast<std::size_t>(rank)] = !is_released;
    if (rank == 1) is_released = true;
    if (error) std::rethrow_exception(error);
  });
  CHECK(was_in_time[1]);
  for (const auto& outcome : outcomes) CHECK(outcome.is<TimeoutError>());
  CHECK_THAT(outcomes[1].message(), ContainsSubstring("is a kernel still running?") || ContainsSubstring("rank 0"));
}

TEST_CASE("every rank of a ring sends 2(P-1)/P of the buffer if P divides the count", "[ring][chapter][multirank]") {
  for (const int world_size : {1, 2, 3, 4, 5, 8}) {
    const std::uint64_t count = 120 * 1024;  // divisible by all of them; 480 KiB
    for (const Traffic& sent : traffic_of_all_reduce(world_size, count)) {
      const auto ranks = static_cast<std::uint64_t>(world_size);
      CHECK(sent.payload_bytes == 2 * (ranks - 1) * (count / ranks) * sizeof(float));
      CHECK(sent.header_bytes == sent.messages * 64);
    }
  }
}

TEST_CASE("every rank of a ring sends exactly its chunks if P does not divide the count",
          "[ring][chapter][multirank]") {
  const int world_size = 4;
  for (const std::int64_t count : {0, 1, 3, 5, 1003}) {
    const std::vector<Traffic> sent = traffic_of_all_reduce(world_size, static_cast<std::size_t>(count));
    for (int rank = 0; rank < world_size; ++rank) {
      // All chunks but the one it finishes first, then all but the one its right neighbour has finished.
      const auto chunk_count = [&](int index) { return ring::chunk_of(count, index % world_size, world_size).count; };
      const std::int64_t elements = 2 * count - chunk_count(rank + 1) - chunk_count(rank + 2);
      CHECK(sent[static_cast<std::size_t>(rank)].payload_bytes == static_cast<std::uint64_t>(elements) * sizeof(float));
    }
  }
}

TEST_CASE("from 1 MiB up, headers are at most a thousandth of the bytes that the ring sends",
          "[ring][chapter][multirank]") {
  for (const int world_size : {2, 4, 8}) {
    for (const Traffic& sent : traffic_of_all_reduce(world_size, (std::size_t{1} << 20) / sizeof(float))) {
      CHECK(sent.header_bytes * 1000 <= sent.payload_bytes);
    }
  }
}
