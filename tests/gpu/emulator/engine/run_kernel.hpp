#pragma once
/// @file
/// Runs kernels on the engine alone: no streams, no device memory.
#include <cuda_runtime.h>

#include <cstdint>
#include <span>

#include "emulator/engine/execution.hpp"

namespace lockstep::emulator::test {

/// The orders of threads that every test of the engine runs in: by rank, backwards, shuffled.
inline constexpr std::uint64_t kSeeds[] = {0, 1, 7};
/// One thread, a warp and its neighbours, several warps, the most.
inline constexpr unsigned kBlockSizes[] = {1, 31, 32, 33, 256, 1024};

/// Sets the order of threads until the end of the scope.
class SeedGuard {
 public:
  explicit SeedGuard(std::uint64_t seed) : before_(schedule_seed()) { set_schedule_seed(seed); }
  ~SeedGuard() { set_schedule_seed(before_); }
  SeedGuard(const SeedGuard&) = delete;
  SeedGuard& operator=(const SeedGuard&) = delete;

 private:
  std::uint64_t before_;
};

/// Runs `body` in every thread.
template <typename Body>
KernelResult run(dim3 grid, dim3 block, Body body, std::size_t shared_bytes = 0) {
  KernelCall call;
  call.name = "test";
  call.grid = grid;
  call.block = block;
  call.shared_bytes = shared_bytes;
  call.body = body;
  return execute(call, 0);
}

/// Runs `body` for every order and block size: body(seed, threads).
template <typename Body>
void for_each_order_and_size(Body body) {
  for (const std::uint64_t seed : kSeeds) {
    const SeedGuard guard(seed);
    for (const unsigned threads : kBlockSizes) body(seed, threads);
  }
}

}  // namespace lockstep::emulator::test
