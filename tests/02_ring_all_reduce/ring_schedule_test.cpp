#include "02_ring_all_reduce/ring_schedule.hpp"

#include <vector>

#include "support/catch.hpp"

using namespace lockstep::ring;

TEST_CASE("chunks tile the buffer in order and differ by at most one element", "[ring][chapter]") {
  for (const int world_size : {1, 2, 3, 4, 5, 8}) {
    for (const std::int64_t total : {0, 1, world_size - 1, world_size, world_size + 1, 1000, 100003}) {
      std::int64_t next_begin = 0;
      for (int index = 0; index < world_size; ++index) {
        const Chunk chunk = chunk_of(total, index, world_size);
        CHECK(chunk.begin == next_begin);
        CHECK(chunk.count - total / world_size >= 0);
        CHECK(chunk.count - total / world_size <= 1);
        next_begin += chunk.count;
      }
      CHECK(next_begin == total);
    }
  }
}

// The schedule run on sums: rank r contributes 8^r, so that digit r in base 8 says how often rank r was counted.
TEST_CASE("after 2(P-1) steps every rank holds every chunk with every rank counted once", "[ring][chapter]") {
  for (const int world_size : {1, 2, 3, 4, 5, 8}) {
    std::int64_t expected = 0;
    std::vector<std::vector<std::int64_t>> held(world_size);
    for (int rank = 0; rank < world_size; ++rank) {
      held[rank].assign(world_size, std::int64_t{1} << (3 * rank));
      expected += std::int64_t{1} << (3 * rank);
    }
    for (int step = 0; step < world_size - 1; ++step) {
      const auto before = held;
      for (int rank = 0; rank < world_size; ++rank) {
        const int chunk = reduce_scatter_receives(rank, step, world_size);
        held[rank][chunk] += before[previous_of(rank, world_size)][chunk];
      }
    }
    for (int rank = 0; rank < world_size; ++rank) {
      CHECK(held[rank][finished_chunk_of(rank, world_size)] == expected);
    }
    for (int step = 0; step < world_size - 1; ++step) {
      const auto before = held;
      for (int rank = 0; rank < world_size; ++rank) {
        const int chunk = all_gather_receives(rank, step, world_size);
        held[rank][chunk] = before[previous_of(rank, world_size)][chunk];
      }
    }
    for (const auto& chunks : held) CHECK(chunks == std::vector<std::int64_t>(world_size, expected));
  }
}
