#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <thread>

#include "02_ring_all_reduce/shared_memory_member.hpp"
#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/collective_elements.hpp"
#include "support/run_ranks.hpp"
#include "support/stay_away.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using comm::JobContext;
using comm::ReduceOp;
using test::kPlaces;
using test::Member;
using test::Place;
using test::run_ranks;
using test::run_ranks_for;
using test::soon;
using test::stay_away;

namespace {

template <typename T>
std::string run_case(Member& member, std::size_t count, ReduceOp op) {
  const int world_size = member.context().world_size;
  const std::span<T> values = member.buffer<T>(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = test::element<T>(
        test::contribution(member.context().rank, static_cast<std::int64_t>(i), world_size, dtype_of<T>, op));
  }
  member.reduce(values, op);
  for (std::size_t i = 0; i < count; ++i) {
    const T wanted = test::element<T>(test::expected(static_cast<std::int64_t>(i), world_size, dtype_of<T>, op));
    if (test::is_equal(values[i], wanted)) continue;
    return concat("rank ", member.context().rank, ": ", name_of(op), " of ", count, " ", dtype_of<T>, ": element ", i);
  }
  (void)member.memory().all_gather({}, "test", soon());  // nobody frees its block while others look
  return "";
}

template <typename T>
std::string run_ops(Member& member, std::size_t count) {
  for (const ReduceOp op : test::kOps) {
    if (const std::string problem = run_case<T>(member, count, op); !problem.empty()) return problem;
  }
  return "";
}

std::string run_all(Member& member, std::size_t count) {
  for (const auto run :
       {run_ops<float>, run_ops<double>, run_ops<BFloat16>, run_ops<std::int32_t>, run_ops<std::int64_t>}) {
    if (const std::string problem = run(member, count); !problem.empty()) return problem;
  }
  return "";
}

std::vector<float> random_mean(const JobContext& context, Place place, std::size_t count) {
  Member member(context, place);
  const std::span<float> values = member.buffer<float>(count);
  std::ranges::copy(test::random_values<float>(context.rank, count), values.begin());
  member.reduce(values, ReduceOp::kMean);
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("all-reduce through shared memory is right: ways, worlds, counts, dtypes, operations", "[ring][multirank]") {
  for (const int world_size : {2, 3, 4, 5, 8}) {
    for (const Place place : kPlaces) {
      const auto ranks = static_cast<std::size_t>(world_size);
      const std::set<std::size_t> counts{0, 1, ranks - 1, ranks, ranks + 1, 1000};
      const auto problems = run_ranks_for<std::string>(world_size, [&](const JobContext& context) -> std::string {
        Member member(context, place);
        for (const std::size_t count : counts) {
          if (const std::string problem = run_all(member, count); !problem.empty()) return problem;
        }
        return "";
      });
      for (const std::string& problem : problems) CHECK(problem == "");
    }
  }
}

TEST_CASE("large all-reduces through shared memory are right", "[ring][multirank]") {
  for (const int world_size : {2, 3, 5, 8}) {
    for (const Place place : {Place::kPrivate, Place::kRegistered, Place::kMixed}) {
      const auto problems = run_ranks_for<std::string>(world_size, [&](const JobContext& context) {
        Member member(context, place);
        std::string problem = run_case<float>(member, 1'000'003, ReduceOp::kSum);
        if (problem.empty()) problem = run_case<BFloat16>(member, 1'000'003, ReduceOp::kMean);
        if (problem.empty()) problem = run_case<std::int64_t>(member, 200'001, ReduceOp::kMax);
        return problem;
      });
      for (const std::string& problem : problems) CHECK(problem == "");
    }
  }
}

TEST_CASE("all ways through shared memory give the same bits on all ranks, again and again", "[ring][multirank]") {
  for (const int world_size : {2, 3, 5}) {
    std::vector<float> first;
    for (int round = 0; round < 2; ++round) {
      for (const Place place : kPlaces) {
        const auto results = run_ranks_for<std::vector<float>>(
            world_size, [&](const JobContext& context) { return random_mean(context, place, 2049); });
        if (first.empty()) first = results[0];
        for (const auto& values : results) {
          CHECK(std::memcmp(values.data(), first.data(), first.size() * sizeof(float)) == 0);
        }
      }
    }
    // The oracle adds in double precision. P - 1 additions and a division of values below 6 in magnitude: each rounds
    // by at most half a unit in the last place of a partial sum below 32, that is 2^-20.
    double largest_error = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      double mean = 0;
      for (int rank = 0; rank < world_size; ++rank)
        mean += test::random_values<float>(rank, first.size())[i] / double{1.0 * world_size};
      largest_error = std::max(largest_error, std::abs(mean - first[i]));
    }
    CHECK(largest_error < world_size * 0x1.0p-20);
  }
}

TEST_CASE("sizes and ways may change from call to call", "[ring][multirank]") {
  const auto problems = run_ranks_for<std::string>(3, [](const JobContext& context) {
    Member member(context, Place::kSlots);
    std::string problem;
    for (int round = 0; round < 200 && problem.empty(); ++round) {
      const auto count = static_cast<std::size_t>(round * 7919 % 5000);  // 10000 bytes are the limit of the slots
      problem = run_case<float>(member, count, ReduceOp::kSum);
    }
    return problem;
  });
  for (const std::string& problem : problems) CHECK(problem == "");
}

TEST_CASE("NaN arrives on all ranks through shared memory, and nowhere else", "[ring][multirank]") {
  for (const Place place : kPlaces) {
    const auto problems = run_ranks_for<std::string>(3, [&](const JobContext& context) -> std::string {
      Member member(context, place);
      for (const ReduceOp op : test::kOps) {
        const std::span<float> values = member.buffer<float>(100);
        std::ranges::fill(values, 2.0F);
        if (context.rank == 1) values[44] = std::nanf("");
        member.reduce(values, op);
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (std::isnan(values[i]) != (i == 44)) return concat(name_of(op), ": element ", i);
        }
        (void)member.memory().all_gather({}, "test", soon());
      }
      return "";
    });
    for (const std::string& problem : problems) CHECK(problem == "");
  }
}

TEST_CASE("ranks in different collectives are told so by shared memory", "[ring][multirank]") {
  for (const Place place : kPlaces) {
    for (const int other : {0, 1, 2}) {  // another count, another operation, another sequence number
      const auto outcomes = run_ranks(3, [&](const JobContext& context) {
        Member member(context, place);
        const bool is_odd = context.rank == 1;
        std::vector<float> values(is_odd && other == 0 ? 100000 : 1000);
        if (is_odd && other == 2) ++member.sequence;
        member.reduce(std::span(values), is_odd && other == 1 ? ReduceOp::kMax : ReduceOp::kSum);
      });
      for (const auto& outcome : outcomes) {
        CAPTURE(other, outcome.message());
        CHECK(outcome.is<MismatchError>());
        const std::string odd = other == 0   ? "(sum of 100000 float32)"
                                : other == 1 ? "(max of 1000 float32)"
                                             : "all_reduce #1";
        CHECK_THAT(outcome.message(), ContainsSubstring("rank 1") && ContainsSubstring(odd));
        CHECK_THAT(outcome.message(), ContainsSubstring("all_reduce #0 (sum of 1000 float32)"));
      }
    }
  }
}

TEST_CASE("a rank that dies in the middle is named by those who wait in shared memory", "[ring][multirank]") {
  for (const Place place : kPlaces) {
    const auto outcomes = run_ranks(3, [&](const JobContext& context) {
      Member member(context, place);
      const std::span<float> values = member.buffer<float>(2000);
      std::ranges::fill(values, 1.0F);
      for (int round = 0; round < 20; ++round) {
        if (context.rank == 1 && round == 7) throw std::runtime_error("out of luck");
        member.reduce(values, ReduceOp::kMean);
      }
    });
    for (const int rank : {0, 2}) {
      CAPTURE(rank, outcomes[rank].message());
      CHECK(outcomes[rank].is<PeerFailedError>());
      CHECK_THAT(outcomes[rank].message(), ContainsSubstring("rank 1"));
    }
  }
}

TEST_CASE("a rank that stays away is named at the deadline, and interrupt() ends the wait", "[ring][multirank]") {
  const auto outcomes = run_ranks(3, [](const JobContext& context) {
    Member member(context, Place::kPrivate);
    std::vector<float> values(1000, 1.0F);
    if (context.rank == 2) return stay_away(context);
    const std::jthread other([&] {
      std::this_thread::sleep_for(50ms);
      if (context.rank == 1) member.memory().interrupt();
    });
    try {
      member.reduce(std::span(values), ReduceOp::kSum, Deadline::after(context.rank == 0 ? 200ms : 20s));
    } catch (const IoError&) {
      stay_away(context);  // so that rank 0 sees no failure of this rank before its deadline
      throw;
    }
  });
  CHECK(outcomes[0].is<TimeoutError>());
  CHECK_THAT(outcomes[0].message(), ContainsSubstring("rank 2 did not join"));
  CHECK(outcomes[1].is<IoError>());
}
