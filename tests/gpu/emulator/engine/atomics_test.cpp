#include <cuda_bf16.h>

#include <climits>
#include <cstdint>
#include <numeric>
#include <vector>

#include "run_kernel.hpp"
#include "support/catch.hpp"

using namespace lockstep::emulator;
using namespace lockstep::emulator::test;

namespace {

/// One operation on `start`: what it returned and what it left.
template <typename T>
struct Outcome {
  T before;
  T after;
  bool operator==(const Outcome&) const = default;
};

template <typename T, typename Operation>
Outcome<T> once(T start, Operation operation) {
  Outcome<T> outcome{T(0), start};
  const KernelResult result = run(1, 1, [&] { outcome.before = operation(&outcome.after); });
  CHECK(result.is_ok);
  return outcome;
}

template <typename T>
void check_integer_operations() {
  CHECK(once<T>(5, [](T* at) { return atomicAdd(at, T(7)); }) == Outcome<T>{5, 12});
  CHECK(once<T>(5, [](T* at) { return atomicExch(at, T(7)); }) == Outcome<T>{5, 7});
  CHECK(once<T>(5, [](T* at) { return atomicMin(at, T(3)); }) == Outcome<T>{5, 3});
  CHECK(once<T>(5, [](T* at) { return atomicMin(at, T(9)); }) == Outcome<T>{5, 5});
  CHECK(once<T>(5, [](T* at) { return atomicMax(at, T(9)); }) == Outcome<T>{5, 9});
  CHECK(once<T>(12, [](T* at) { return atomicAnd(at, T(10)); }) == Outcome<T>{12, 8});
  CHECK(once<T>(12, [](T* at) { return atomicOr(at, T(3)); }) == Outcome<T>{12, 15});
  CHECK(once<T>(12, [](T* at) { return atomicXor(at, T(10)); }) == Outcome<T>{12, 6});
  CHECK(once<T>(5, [](T* at) { return atomicCAS(at, T(5), T(8)); }) == Outcome<T>{5, 8});
  CHECK(once<T>(5, [](T* at) { return atomicCAS(at, T(4), T(8)); }) == Outcome<T>{5, 5});
}

}  // namespace

TEST_CASE("Each atomic operation returns what was there and leaves its result", "[emulator]") {
  check_integer_operations<int>();
  check_integer_operations<unsigned>();
  check_integer_operations<unsigned long long>();
  CHECK(once<int>(5, [](int* at) { return atomicSub(at, 7); }) == Outcome<int>{5, -2});
  CHECK(once<int>(INT_MAX, [](int* at) { return atomicAdd(at, 1); }) == Outcome<int>{INT_MAX, INT_MIN});
  CHECK(once<int>(-5, [](int* at) { return atomicMin(at, 3); }) == Outcome<int>{-5, -5});
  CHECK(once<unsigned>(5, [](unsigned* at) { return atomicSub(at, 7U); }) == Outcome<unsigned>{5, ~1U});
  CHECK(once<float>(0.5F, [](float* at) { return atomicAdd(at, 0.25F); }) == Outcome<float>{0.5F, 0.75F});
  CHECK(once<float>(0.5F, [](float* at) { return atomicExch(at, 2.0F); }) == Outcome<float>{0.5F, 2.0F});
  CHECK(once<double>(0.5, [](double* at) { return atomicAdd(at, 0.25); }) == Outcome<double>{0.5, 0.75});
  CHECK(once<long long>(-5, [](long long* at) { return atomicMax(at, 3LL); }) == Outcome<long long>{-5, 3});
}

TEST_CASE("atomicInc and atomicDec wrap at their bound", "[emulator]") {
  const auto increase = [](unsigned* at) { return atomicInc(at, 3); };
  const auto decrease = [](unsigned* at) { return atomicDec(at, 3); };
  CHECK(once<unsigned>(2, increase) == Outcome<unsigned>{2, 3});
  CHECK(once<unsigned>(3, increase) == Outcome<unsigned>{3, 0});
  CHECK(once<unsigned>(9, increase) == Outcome<unsigned>{9, 0});
  CHECK(once<unsigned>(3, decrease) == Outcome<unsigned>{3, 2});
  CHECK(once<unsigned>(0, decrease) == Outcome<unsigned>{0, 3});
  CHECK(once<unsigned>(9, decrease) == Outcome<unsigned>{9, 3});
}

TEST_CASE("Additions to bfloat16 pairs round each half", "[emulator]") {
  __nv_bfloat162 pair(__float2bfloat16_rn(1.0F), __float2bfloat16_rn(256.0F));
  const KernelResult result = run(1, 4, [&] { atomicAdd(&pair, __floats2bfloat162_rn(0.5F, 1.0F)); });
  CHECK(result.is_ok);
  CHECK(__low2float(pair) == 3.0F);
  CHECK(__high2float(pair) == 256.0F);  // 257 lies in the middle between 256 and 258: ties go to even
}

TEST_CASE("The last block sees what all blocks have written", "[emulator]") {
  for_each_order_and_size([](std::uint64_t seed, unsigned threads) {
    INFO("seed " << seed << ", " << threads << " threads");
    constexpr unsigned kBlocks = 7;
    std::vector<unsigned> partial(kBlocks);
    unsigned finished = 0, total = 0, last_count = 0;
    const KernelResult result = run(kBlocks, threads, [&] {
      __shared__ bool is_last;
      atomicAdd(&partial[blockIdx.x], threadIdx.x + blockIdx.x);
      __threadfence();
      __syncthreads();
      if (threadIdx.x == 0) is_last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
      __syncthreads();
      if (is_last && threadIdx.x == 0) {
        ++last_count;
        for (const unsigned each : partial) total += each;
      }
    });
    CHECK(result.is_ok);
    CHECK(last_count == 1);
    CHECK(finished == 0);
    CHECK(total == kBlocks * (threads * (threads - 1) / 2) + threads * kBlocks * (kBlocks - 1) / 2);
  });
}

TEST_CASE("A thread that waits for another's atomic store lets the other run", "[emulator]") {
  for (const std::uint64_t seed : kSeeds) {
    const SeedGuard guard(seed);
    int flag = 0, seen = 0;
    const KernelResult result = run(1, 64, [&] {
      if (threadIdx.x == 0) {
        while (atomicAdd(&flag, 0) != 63) {
        }
        seen = flag;
      } else {
        atomicAdd(&flag, 1);
      }
    });
    CHECK(result.is_ok);
    CHECK(seen == 63);
  }
}

TEST_CASE("An atomic operation on an address that is no multiple of its width ends the kernel", "[emulator]") {
  alignas(8) static unsigned char bytes[8];
  const KernelResult result = run(1, 1, [] { atomicAdd(reinterpret_cast<int*>(bytes + 1), 1); });
  CHECK_FALSE(result.is_ok);
  CHECK_THAT(result.message, ContainsSubstring("not a multiple"));
}
