// AddressSanitizer has operators of its own, and counts.
#if !defined(__SANITIZE_ADDRESS__)
#include <atomic>
#include <cstdlib>
#include <new>

#include "device/hopper.hpp"
#include "device/tensor_core.hpp"
#include "run_kernel.hpp"
#include "support/catch.hpp"

namespace {
std::atomic<long> allocations = 0, releases = 0;

void release(void* memory) noexcept {
  if (memory != nullptr) ++releases;
  std::free(memory);
}
}  // namespace

// The library's calls come here too: a program's operators win over the standard library's.
void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes != 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
// Not inlined: g++ 14 takes free() beside an operator new for a mistake.
[[gnu::noinline]] void operator delete(void* memory) noexcept { release(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { release(memory); }

using namespace lockstep::emulator;
using namespace lockstep::emulator::test;

TEST_CASE("A launch like the one before allocates nothing, however many threads and blocks", "[emulator]") {
  alignas(16) static const float source[4] = {1, 2, 3, 4};
  KernelCall call;
  call.grid = 20;
  call.block = 256;
  call.body = [] {
    struct alignas(16) Four {
      float values[4];
    };
    __shared__ Four target[256];
    lockstep::device::cp_async16(&target[threadIdx.x], source);
    lockstep::device::cp_async_commit();
    lockstep::device::cp_async_wait<0>();
    __syncthreads();
    target[threadIdx.x].values[0] += __shfl_xor_sync(~0U, 1.0F, 1);
    __syncthreads();
  };
  for (const std::uint64_t seed : kSeeds) {
    const SeedGuard guard(seed);
    const long at_start = allocations;
    const KernelResult first = execute(call, 0);
    const long after_first = allocations;
    const KernelResult second = execute(call, 0);
    const long after_second = allocations;
    CHECK(first.is_ok);
    CHECK(second.is_ok);
    CHECK(after_second == after_first);
    if (seed == kSeeds[0]) CHECK(after_first > at_start);  // the count does see the library: stacks, queues of copies
  }
}

TEST_CASE("The mbarriers of a block are forgotten when it ends, not when the launch does", "[emulator]") {
  const auto kept_after = [](unsigned blocks) {
    const bool is_ok = run(blocks, 32, [] {
                         __shared__ lockstep::device::PhaseBarrier barrier;
                         if (threadIdx.x == 0) lockstep::device::init_barrier(barrier, 1);
                       }).is_ok;
    return is_ok ? allocations - releases : -1;
  };
  static_cast<void>(kept_after(1));  // makes what launches share
  const long after_one = kept_after(1);
  const long after_many = kept_after(100);
  CHECK(after_one > 0);
  CHECK(after_many == after_one);
}
#endif
