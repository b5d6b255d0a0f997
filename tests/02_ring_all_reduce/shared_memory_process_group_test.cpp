// The group of ranks of one host passes what every backend passes.
#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "02_ring_all_reduce/ring_process_group.hpp"
#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/collective_checks.hpp"
#include "support/every_collective_checks.hpp"
#include "support/run_ranks.hpp"

using namespace lockstep;
using comm::JobContext;
using test::run_ranks_for;

namespace {

const test::GroupFactory kGroup = [](JobContext context) {
  return ring::make_shared_memory_process_group(std::move(context));
};

}  // namespace

TEST_CASE("a group in shared memory reduces, broadcasts and meets as every backend does", "[ring][multirank]") {
  test::check_all_reduce(kGroup, 1000003);
  test::check_bits_repeat(kGroup);
  test::check_nan_propagates(kGroup);
  test::check_broadcast(kGroup);
  test::check_barrier(kGroup);
  test::check_issue_order(kGroup);
  test::check_deadline(kGroup);
  test::check_irreducible(kGroup);
}
TEST_CASE("a group in shared memory has every collective", "[ring][multirank]") {
  test::check_every_collective(kGroup);
  test::check_in_place(kGroup);
  test::check_grouped_calls(kGroup);
  test::check_coalesced(kGroup);
  test::check_objects(kGroup);
  test::check_deferred(kGroup);
}
TEST_CASE("the collectives of a group in shared memory are right with a million elements", "[ring][multirank][large]") {
  test::check_every_collective_at_scale(kGroup);
  test::check_larger_than_buffers(kGroup);
}
TEST_CASE("groups in shared memory split into such groups", "[ring][multirank]") {
  test::check_split(kGroup);
  test::check_nested_splits(kGroup);
}
TEST_CASE("ranks in shared memory that disagree are told who did what", "[ring][multirank]") {
  test::check_mismatches(kGroup);
  test::check_mismatches_of_every_collective(kGroup);
  test::check_tags(kGroup);
}
TEST_CASE("a rank that dies or leaves is named by all who share memory with it", "[ring][multirank]") {
  test::check_death(kGroup);
  test::check_rank_0_leaves(kGroup);
}

TEST_CASE("memory from allocate is reduced where it is, beside private memory", "[ring][multirank]") {
  const auto sums = run_ranks_for<std::vector<float>>(3, [&](JobContext context) {
    const auto group = kGroup(std::move(context));
    constexpr std::size_t kCount = 300000;
    const auto storage = group->allocate(kCount * sizeof(float), {});
    const std::span registered(reinterpret_cast<float*>(storage->data()), kCount);
    std::ranges::fill(registered, static_cast<float>(1 << (3 * group->rank())));
    comm::Work work = group->all_reduce(comm::host_buffer(registered));
    std::vector<float> values(kCount, 1.0F);
    group->all_reduce(comm::host_buffer(std::span(values))).synchronize();
    work.synchronize();
    return std::vector<float>{registered.front(), registered.back(), values.front(), values.back()};
  });
  for (const auto& sum : sums) CHECK(sum == std::vector<float>{1 + 8 + 64, 1 + 8 + 64, 3, 3});
}

// The root's memory and the others' in all four ways, beside sizes of one slot, one segment and many.
TEST_CASE("broadcast and reduce work where only some of the memory is registered", "[ring][multirank]") {
  const auto problems = run_ranks_for<std::string>(3, [](JobContext context) -> std::string {
    const auto group = kGroup(std::move(context));
    const int rank = group->rank();
    constexpr std::size_t kMost = 400'003;
    const auto storage = group->allocate(kMost * sizeof(float));
    std::vector<float> own(kMost);
    for (const unsigned registered_ranks : {0U, 1U, 2U, 5U, 7U}) {  // a bit for each rank
      const bool is_registered = (registered_ranks >> static_cast<unsigned>(rank) & 1U) != 0;
      const std::span all =
          is_registered ? std::span(reinterpret_cast<float*>(storage->data()), kMost) : std::span(own);
      for (const std::size_t count : {std::size_t{1}, std::size_t{700}, std::size_t{9'000}, kMost}) {
        for (int root = 0; root < 3; ++root) {
          const std::span values = all.first(count);
          const auto mine = static_cast<float>(1 << (3 * rank));
          std::ranges::fill(values, mine);
          group->broadcast(comm::host_buffer(values), root).synchronize();
          const auto of_root = static_cast<float>(1 << (3 * root));
          if (std::ranges::any_of(values, [&](float value) { return value != of_root; })) return "broadcast is wrong";
          std::ranges::fill(values, mine);
          group->reduce(comm::host_buffer(values), root).synchronize();
          const float wanted = rank == root ? 1 + 8 + 64 : mine;  // the others keep what they had
          if (std::ranges::any_of(values, [&](float value) { return value != wanted; }))
            return concat("rank ", rank, ": reduce of ", count, " to ", root, " gives ", values.front());
        }
      }
    }
    group->barrier().synchronize();  // nobody frees its block while others look
    return "";
  });
  for (const std::string& problem : problems) CHECK(problem == "");
}

TEST_CASE("a reduce in shared memory has the bits of an all-reduce", "[ring][multirank]") {
  const auto are_equal = run_ranks_for<int>(3, [](JobContext context) {
    const auto group = kGroup(std::move(context));
    std::vector<float> values(200'001);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = 1.0F / static_cast<float>(i + 7 * static_cast<std::size_t>(group->rank()) + 3);
    std::vector<float> all = values;
    group->all_reduce(comm::host_buffer(std::span(all)), comm::ReduceOp::kMean).synchronize();
    group->reduce(comm::host_buffer(std::span(values)), 1, comm::ReduceOp::kMean).synchronize();
    return static_cast<int>((values == all) == (group->rank() == 1));
  });
  for (const int is_equal : are_equal) CHECK(is_equal == 1);
}

TEST_CASE("shared memory is not made between group_start and group_end", "[ring][multirank]") {
  const auto outcomes = test::run_ranks(2, [](JobContext context) {
    const auto group = kGroup(std::move(context));
    group->group_start();
    (void)group->allocate(100);
  });
  for (const auto& outcome : outcomes) {
    CHECK(outcome.is<ContractError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("allocate would wait for data that cannot come"));
  }
}

TEST_CASE("in shared memory nothing is sent but what has one destination", "[ring][multirank]") {
  const auto problems = run_ranks_for<std::string>(3, [](JobContext context) -> std::string {
    const auto group = kGroup(std::move(context));
    const auto rank = static_cast<std::size_t>(group->rank());
    constexpr std::size_t kCount = 50'001;
    const auto storage = group->allocate(3 * kCount * sizeof(float));
    const std::span all(reinterpret_cast<float*>(storage->data()), 3 * kCount),
        own = all.subspan(rank * kCount, kCount);
    std::ranges::fill(all, static_cast<float>(rank + 1));
    group->reduce_scatter(comm::host_buffer(own), comm::host_buffer(all)).synchronize();
    if (std::ranges::any_of(own, [](float sum) { return sum != 6; })) return "the sum is wrong";
    std::ranges::fill(own, static_cast<float>(rank));
    group->all_gather(comm::host_buffer(all), comm::host_buffer(own)).synchronize();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i] != static_cast<float>(i / kCount)) return concat("element ", i, " is ", all[i]);
    }
    group->broadcast(comm::host_buffer(all), 2).synchronize();
    group->reduce(comm::host_buffer(all), 2).synchronize();
    group->all_reduce(comm::host_buffer(all)).synchronize();
    if (group->traffic_sent().payload_bytes != 0) return "something has been sent";
    std::vector<float> gathered(3 * kCount);
    group->gather(comm::host_buffer(std::span(gathered)), comm::host_buffer(own), 0).synchronize();
    if (group->traffic_sent().payload_bytes != (rank == 0 ? 0 : kCount * sizeof(float))) return "a gather sends";
    group->barrier().synchronize();  // nobody frees its block while others look
    return "";
  });
  for (const std::string& problem : problems) CHECK(problem == "");
}
