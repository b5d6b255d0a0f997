#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "run_kernel.hpp"
#include "support/catch.hpp"

using namespace lockstep::emulator;
using namespace lockstep::emulator::test;

TEST_CASE("Every thread of a three-dimensional grid runs once and knows its place", "[emulator]") {
  for (const std::uint64_t seed : kSeeds) {
    const SeedGuard guard(seed);
    const dim3 grid(3, 2, 4), block(5, 3, 2);
    std::vector<int> seen(3 * 2 * 4 * 5 * 3 * 2);
    bool extents_are_right = true;
    const KernelResult result = run(grid, block, [&] {
      const unsigned block_rank = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
      const unsigned thread_rank = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
      ++seen[block_rank * 30 + thread_rank];
      if (gridDim.z != 4 || blockDim.y != 3 || warpSize != 32) extents_are_right = false;
    });
    CHECK(result.is_ok);
    CHECK(extents_are_right);
    CHECK(std::ranges::count(seen, 1) == static_cast<std::ptrdiff_t>(seen.size()));
  }
}

TEST_CASE("Values written before a barrier are read after it, by all threads", "[emulator]") {
  for_each_order_and_size([](std::uint64_t seed, unsigned threads) {
    INFO("seed " << seed << ", " << threads << " threads");
    std::vector<int> values(threads), wrong(threads);
    const KernelResult result = run(2, threads, [&] {
      const unsigned own = threadIdx.x, other = (own + 1) % blockDim.x;
      for (int round = 0; round < 5; ++round) {
        values[own] = round * 10000 + static_cast<int>(own);
        __syncthreads();
        if (values[other] != round * 10000 + static_cast<int>(other)) ++wrong[own];
        __syncthreads();
      }
    });
    CHECK(result.is_ok);
    CHECK(std::accumulate(wrong.begin(), wrong.end(), 0) == 0);
  });
}

TEST_CASE("Barriers count, and and or the predicates of all threads", "[emulator]") {
  for_each_order_and_size([](std::uint64_t seed, unsigned threads) {
    INFO("seed " << seed << ", " << threads << " threads");
    int wrong = 0;
    const KernelResult result = run(1, threads, [&] {
      for (unsigned limit = 0; limit <= blockDim.x; limit += (blockDim.x + 2) / 3) {
        const int is_below = threadIdx.x < limit ? 5 : 0;  // any number but 0 counts as one
        if (__syncthreads_count(is_below) != static_cast<int>(limit)) ++wrong;
        if (__syncthreads_and(is_below) != (limit == blockDim.x ? 1 : 0)) ++wrong;
        if (__syncthreads_or(is_below) != (limit > 0 ? 1 : 0)) ++wrong;
      }
    });
    CHECK(result.is_ok);
    CHECK(wrong == 0);
  });
}

TEST_CASE("Threads that have ended are not waited for", "[emulator]") {
  for_each_order_and_size([](std::uint64_t seed, unsigned threads) {
    INFO("seed " << seed << ", " << threads << " threads");
    int passed = 0;
    const KernelResult result = run(1, threads, [&] {
      if (threadIdx.x % 3 == 1) return;
      __syncthreads();
      ++passed;
    });
    CHECK(result.is_ok);
    CHECK(passed == static_cast<int>(threads - (threads + 1) / 3));
  });
}

TEST_CASE("A grid barrier separates the phases of all blocks, whose threads keep their variables", "[emulator]") {
  for_each_order_and_size([](std::uint64_t seed, unsigned threads) {
    INFO("seed " << seed << ", " << threads << " threads");
    constexpr unsigned kBlocks = 5, kPhases = 4;
    std::vector<unsigned> arrived(kPhases);
    unsigned wrong = 0, ended = 0;
    KernelCall call;
    call.grid = kBlocks;
    call.block = threads;
    call.is_cooperative = true;
    call.shared_bytes = 4;
    call.body = [&] {
      if (threadIdx.x % 7 == 3) return;  // nobody waits for threads that have ended
      std::array<unsigned, kPhases> own{};
      auto* const shared = dynamic_shared<unsigned>();
      *shared = blockIdx.x;
      for (unsigned phase = 0; phase < kPhases; ++phase) {
        if (phase > 0 && arrived[phase - 1] != kBlocks * (threads - (threads + 3) / 7)) ++wrong;
        ++arrived[phase];
        own[phase] = blockIdx.x * 10000 + threadIdx.x * 10 + phase;
        sync_grid(SourcePlace::here());
        for (unsigned before = 0; before <= phase; ++before) {
          if (own[before] != blockIdx.x * 10000 + threadIdx.x * 10 + before) ++wrong;
        }
        if (*shared != blockIdx.x) ++wrong;
      }
      ++ended;
    };
    const KernelResult result = execute(call, 0);
    CHECK(result.message.empty());
    CHECK(wrong == 0);
    CHECK(ended == kBlocks * (threads - (threads + 3) / 7));
  });
}
