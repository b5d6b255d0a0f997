// Reduce-scatter and all-gather through shared memory.
#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "02_ring_all_reduce/shared_memory_member.hpp"
#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/collective_elements.hpp"
#include "support/run_ranks.hpp"

using namespace lockstep;
using comm::JobContext;
using comm::ReduceOp;
using test::kPlaces;
using test::Member;
using test::Place;
using test::run_ranks;
using test::run_ranks_for;
using test::soon;

namespace {

enum class Output { kApart, kInPlace };

template <typename T>
bool has_same_bits(std::span<const T> a, std::span<const T> b) {
  return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

std::string name_of(const Member& member, const char* what, std::size_t count, Output output) {
  return concat("rank ", member.context().rank, ": ", what, " of ", count, " elements",
                output == Output::kInPlace ? ", in place" : "");
}

// Part r of an all-reduce is the oracle: it adds in the order of the ranks.
template <typename T>
std::string scatter_case(Member& member, std::size_t count, ReduceOp op, Output output) {
  const auto ranks = static_cast<std::size_t>(member.context().world_size);
  const auto rank = static_cast<std::size_t>(member.context().rank);
  const std::vector<T> own = test::random_values<T>(member.context().rank, ranks * count);
  std::vector<T> whole = own;
  member.reduce(std::span(whole), op);

  const std::span<T> memory = member.buffer<T>((ranks + 1) * count), input = memory.first(ranks * count);
  const std::span<T> sums = output == Output::kInPlace ? input.subspan(rank * count, count) : memory.last(count);
  std::ranges::copy(own, input.begin());
  member.reduce_scatter(sums, input, op);
  std::string problem;
  if (!has_same_bits<T>(sums, std::span(whole).subspan(rank * count, count))) {
    problem = name_of(member, "reduce_scatter", count, output);
  }
  if (output == Output::kInPlace) std::ranges::copy(std::span(own).subspan(rank * count, count), sums.begin());
  if (!has_same_bits<T>(input, own)) problem = name_of(member, "the input of reduce_scatter", count, output);
  (void)member.memory().all_gather({}, "test", soon());  // nobody frees its block while others look
  return problem;
}

template <typename T>
std::string gather_case(Member& member, std::size_t count, Output output) {
  const auto ranks = static_cast<std::size_t>(member.context().world_size);
  const auto rank = static_cast<std::size_t>(member.context().rank);
  const std::span<T> memory = member.buffer<T>((ranks + 1) * count), all = memory.first(ranks * count);
  const std::span<T> input = output == Output::kInPlace ? all.subspan(rank * count, count) : memory.last(count);
  std::ranges::fill(all, test::element<T>(-1));
  std::ranges::copy(test::random_values<T>(member.context().rank, count), input.begin());
  member.all_gather(all, input);
  std::string problem;
  for (std::size_t other = 0; other < ranks; ++other) {
    const std::vector<T> wanted = test::random_values<T>(static_cast<int>(other), count);
    if (has_same_bits<T>(all.subspan(other * count, count), wanted)) continue;
    problem = concat(name_of(member, "all_gather", count, output), ": the part of rank ", other);
  }
  (void)member.memory().all_gather({}, "test", soon());
  return problem;
}

template <typename T>
std::string run_type(Member& member, std::size_t count) {
  for (const Output output : {Output::kApart, Output::kInPlace}) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax}) {
      if (const std::string problem = scatter_case<T>(member, count, op, output); !problem.empty()) return problem;
    }
    if (const std::string problem = gather_case<T>(member, count, output); !problem.empty()) return problem;
  }
  return "";
}

}  // namespace

TEST_CASE("reduce-scatter through shared memory is part r of all-reduce bit for bit, all-gather is exact",
          "[ring][multirank]") {
  for (const int world_size : {2, 3, 5, 8}) {
    for (const Place place : kPlaces) {
      const auto ranks = static_cast<std::size_t>(world_size);
      const std::set<std::size_t> counts{0, 1, ranks + 1, 333, 2500};
      const auto problems = run_ranks_for<std::string>(world_size, [&](const JobContext& context) -> std::string {
        Member member(context, place);
        for (const std::size_t count : counts) {
          for (const auto run : {run_type<float>, run_type<BFloat16>, run_type<std::int64_t>}) {
            if (const std::string problem = run(member, count); !problem.empty()) return problem;
          }
        }
        return "";
      });
      for (const std::string& problem : problems) CHECK(problem == "");
    }
  }
}

// A segment has 512 KiB: these are several, and the last is not full.
TEST_CASE("both halves of large buffers through shared memory are right", "[ring][multirank]") {
  for (const int world_size : {2, 3, 5}) {
    for (const Place place : {Place::kPrivate, Place::kRegistered, Place::kMixed}) {
      const auto problems = run_ranks_for<std::string>(world_size, [&](const JobContext& context) {
        Member member(context, place);
        std::string problem = scatter_case<float>(member, 200'003, ReduceOp::kMean, Output::kInPlace);
        if (problem.empty()) problem = scatter_case<BFloat16>(member, 200'003, ReduceOp::kSum, Output::kApart);
        if (problem.empty()) problem = gather_case<float>(member, 300'007, Output::kApart);
        if (problem.empty()) problem = gather_case<BFloat16>(member, 600'001, Output::kInPlace);
        return problem;
      });
      for (const std::string& problem : problems) CHECK(problem == "");
    }
  }
}

// Inputs are overwritten as soon as a call returns, and ways follow one another without a pause.
TEST_CASE("all collectives through shared memory may follow one another at once", "[ring][multirank]") {
  for (const Place place : kPlaces) {
    const auto problems = run_ranks_for<std::string>(3, [&](const JobContext& context) -> std::string {
      Member member(context, place);
      const std::span<float> memory = member.buffer<float>(4 * 100'000);
      for (int round = 0; round < 100; ++round) {
        const auto count = static_cast<std::size_t>(round * 7919 % (round % 10 == 0 ? 100'000 : 2000));
        const std::span<float> all = memory.first(3 * count), own = memory.last(count);
        const auto value = static_cast<float>(context.rank + 1 + round);
        const float sum = 6.0F + 3.0F * static_cast<float>(round);  // (1 + r) + (2 + r) + (3 + r)
        std::ranges::fill(all, value);
        if (round % 3 == 0) member.reduce(all, ReduceOp::kSum);
        if (round % 3 == 1) member.reduce_scatter(own, all, ReduceOp::kSum);
        if (round % 3 == 2) {
          std::ranges::fill(own, value);
          member.all_gather(all, own);
          std::ranges::fill(own, -1.0F);
        }
        for (std::size_t i = 0; i < (round % 3 == 1 ? count : 3 * count); ++i) {
          const float wanted = round % 3 == 2 ? static_cast<float>(i / count + 1) + static_cast<float>(round) : sum;
          const float got = round % 3 == 1 ? own[i] : all[i];
          if (got != wanted) return concat("rank ", context.rank, ", round ", round, ": element ", i, " is ", got);
        }
      }
      (void)member.memory().all_gather({}, "test", soon());
      return "";
    });
    for (const std::string& problem : problems) CHECK(problem == "");
  }
}

TEST_CASE("a rank in the other half is named by all", "[ring][multirank]") {
  for (const Place place : kPlaces) {
    const auto outcomes = run_ranks(3, [&](const JobContext& context) {
      Member member(context, place);
      const std::span<float> memory = member.buffer<float>(4 * 5000);
      const std::span<float> all = memory.first(3 * 5000), own = memory.last(5000);
      context.rank == 1 ? member.all_gather(all, own) : member.reduce_scatter(own, all, ReduceOp::kSum);
    });
    for (const auto& outcome : outcomes) {
      CAPTURE(outcome.message());
      CHECK(outcome.is<MismatchError>());
      CHECK_THAT(outcome.message(), Catch::Matchers::ContainsSubstring("rank 1") &&
                                        Catch::Matchers::ContainsSubstring("all_gather") &&
                                        Catch::Matchers::ContainsSubstring("reduce_scatter"));
    }
  }
}
