// Groups of threads as ranks: who is in them, and what is said of a rank that fails.
#include "12_three_dimensions/grid_groups.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "all_grids.hpp"
#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"

using namespace lockstep;
using grid::Axis;
using grid::GridShape;
using grid::RankGrid;

namespace {

using Sums = std::array<std::int64_t, 3>;  // by axis, as in kAxes

std::int64_t digit(int rank) { return std::int64_t{1} << (3 * rank); }

// The sums of each rank's groups if rank r contributes 8^r: in base 8 a digit for each rank, how often it was counted.
Sums sums_in_groups(const grid::GridGroups& groups, int rank) {
  Sums sums{};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = digit(rank);
    groups.along(grid::kAxes[i]).all_reduce(comm::host_buffer(std::span(&sums[i], 1))).synchronize();
  }
  return sums;
}

}  // namespace

TEST_CASE("a sum in a group has each rank of its line once", "[grid][multirank]") {
  for (const GridShape& shape : test::all_grids()) {
    INFO(test::text_of(shape));
    const auto all = test::run_ranks_for<Sums>(shape.ranks(), [&](comm::JobContext job) {
      const RankGrid grid(shape, job.rank, job.world_size);
      const int rank = job.rank;
      const auto world = ring::make_shared_memory_process_group(std::move(job));
      const grid::GridGroups groups = grid::split(*world, grid);
      return sums_in_groups(groups, rank);
    });
    for (int rank = 0; rank < shape.ranks(); ++rank) {
      // A rank is in the line if it has the same place on the other two axes: divide out what changes faster.
      const int data = rank / shape.tensor % shape.data, pipeline = rank / shape.tensor / shape.data;
      Sums expected{};
      for (int other = 0; other < shape.ranks(); ++other) {
        const bool has_same_tensor = other % shape.tensor == rank % shape.tensor;
        const bool has_same_data = other / shape.tensor % shape.data == data;
        const bool has_same_pipeline = other / shape.tensor / shape.data == pipeline;
        if (has_same_data && has_same_tensor) expected[0] += digit(other);
        if (has_same_pipeline && has_same_tensor) expected[1] += digit(other);
        if (has_same_pipeline && has_same_data) expected[2] += digit(other);
      }
      INFO("rank " << rank);
      CHECK(all[static_cast<std::size_t>(rank)] == expected);
    }
  }
}

TEST_CASE("ranks of a group have their places on its axis", "[grid][multirank]") {
  const GridShape shape{.pipeline = 2, .data = 2, .tensor = 2};
  const auto all = test::run_ranks_for<int>(8, [&](comm::JobContext job) {
    const RankGrid grid(shape, job.rank, job.world_size);
    const auto world = ring::make_shared_memory_process_group(std::move(job));
    const grid::GridGroups groups = grid::split(*world, grid);
    bool are_right = true;
    for (const Axis axis : grid::kAxes) {
      const grid::Group& group = groups.along(axis);
      are_right = are_right && group.rank() == grid.place().along(axis) && group.world_size() == 2 &&
                  group.context().global_ranks == grid.line(axis);
    }
    return are_right ? 1 : 0;
  });
  for (const int is_right : all) CHECK(is_right == 1);
}

TEST_CASE("a rank that fails is named with its group and place", "[grid][multirank]") {
  const auto outcomes = test::run_ranks(8, [&](comm::JobContext job) {
    const RankGrid grid({.pipeline = 2, .data = 2, .tensor = 2}, job.rank, job.world_size);
    const int rank = job.rank;
    const auto world = ring::make_shared_memory_process_group(std::move(job));
    try {
      const grid::GridGroups groups = grid::split(*world, grid);
      if (rank == 5) throw Error("no more");
      (void)sums_in_groups(groups, rank);
      world->barrier().synchronize();
    } catch (const Error&) {
      grid::rethrow_with_place(grid);
    }
  });
  CHECK(outcomes[5].message() == "no more");
  const std::string culprit = "rank 5 (pipeline 1, data 0, tensor 1) is in ";
  for (const auto& [rank, text] :
       std::vector<std::pair<int, std::string>>{{4, "tensor{4,5} with this rank 4 (pipeline 1, data 0, tensor 0)"},
                                                {7, "data{5,7} with this rank 7 (pipeline 1, data 1, tensor 1)"},
                                                {1, "pipeline{1,5} with this rank 1 (pipeline 0, data 0, tensor 1)"},
                                                {2, "no group with this rank 2 (pipeline 0, data 1, tensor 0)"}}) {
    const auto& outcome = outcomes[static_cast<std::size_t>(rank)];
    CHECK(outcome.is<PeerFailedError>());
    CHECK_THAT(outcome.message(), ContainsSubstring(culprit + text));
  }
  for (const int rank : {0, 3, 6}) CHECK(outcomes[static_cast<std::size_t>(rank)].is<PeerFailedError>());
}

TEST_CASE("tensor ranks on two hosts are an error on all ranks", "[grid][multirank]") {
  const auto split_on_two_hosts = [](const GridShape& shape) {
    return test::run_ranks(4, [&](comm::JobContext job) {
      const RankGrid grid(shape, job.rank, job.world_size);
      const std::string host = job.rank < 2 ? "a" : "b";
      const auto world = ring::make_shared_memory_process_group(std::move(job));
      (void)grid::split(*world, grid, {.host = host});
    });
  };
  for (const auto& outcome : split_on_two_hosts({.pipeline = 1, .data = 1, .tensor = 4})) {
    CHECK(outcome.is<UsageError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("tensor ranks 1, 2 are on different hosts"));
  }
  for (const auto& outcome : split_on_two_hosts({.pipeline = 2, .data = 1, .tensor = 2})) CHECK(outcome.ok());
}

TEST_CASE("a grid of another job is refused", "[grid][multirank]") {
  const auto outcomes = test::run_ranks(2, [](comm::JobContext job) {
    const RankGrid grid({.pipeline = 2, .data = 1, .tensor = 2}, job.rank, 4);
    const auto world = ring::make_shared_memory_process_group(std::move(job));
    (void)grid::split(*world, grid);
  });
  for (const auto& outcome : outcomes) CHECK(outcome.is<ContractError>());
}
