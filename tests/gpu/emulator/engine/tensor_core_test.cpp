#include "device/tensor_core.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <array>
#include <vector>

#include "run_kernel.hpp"
#include "support/catch.hpp"

using namespace lockstep::emulator;
using namespace lockstep::emulator::test;
namespace device = lockstep::device;

namespace {

/// Small integers, never all equal: products and sums of 16 of them are exact in every order.
int number(unsigned row, unsigned column) { return static_cast<int>((row * 7 + column * 3 + row * column) % 17) - 8; }

std::uint32_t pair_of(int low, int high) {
  return __bfloat16_as_ushort(__int2bfloat16_rn(low)) |
         static_cast<std::uint32_t>(__bfloat16_as_ushort(__int2bfloat16_rn(high))) << 16;
}

std::uint32_t half_pair_of(int low, int high) {
  return __half_as_ushort(__float2half_rn(static_cast<float>(low))) |
         static_cast<std::uint32_t>(__half_as_ushort(__float2half_rn(static_cast<float>(high)))) << 16;
}

}  // namespace

TEST_CASE("mma_m16n8k16 multiplies fragments in the layout of the PTX manual", "[emulator]") {
  const bool is_float16 = GENERATE(false, true);
  const auto pair = is_float16 ? half_pair_of : pair_of;
  for (const std::uint64_t seed : kSeeds) {
    const SeedGuard guard(seed);
    std::array<std::array<float, 8>, 16> product{};
    const KernelResult result = run(1, 32, [&] {
      const unsigned g = threadIdx.x / 4, t = threadIdx.x % 4;
      const auto a_pair = [&](unsigned row, unsigned column) {
        return pair(number(row, column), number(row, column + 1));
      };
      const auto b_pair = [&](unsigned row, unsigned column) {
        return pair(number(row + 5, column), number(row + 6, column));
      };
      const std::uint32_t a[4] = {a_pair(g, 2 * t), a_pair(g + 8, 2 * t), a_pair(g, 2 * t + 8),
                                  a_pair(g + 8, 2 * t + 8)};
      const std::uint32_t b[2] = {b_pair(2 * t, g), b_pair(2 * t + 8, g)};
      const float c[4] = {100.0F, 200.0F, 300.0F, 400.0F};
      float d[4];
      if (is_float16) {
        device::mma_m16n8k16_f16(d, a, b, c);
      } else {
        device::mma_m16n8k16_bf16(d, a, b, c);
      }
      product[g][2 * t] = d[0] - c[0];
      product[g][2 * t + 1] = d[1] - c[1];
      product[g + 8][2 * t] = d[2] - c[2];
      product[g + 8][2 * t + 1] = d[3] - c[3];
    });
    REQUIRE(result.is_ok);
    int wrong = 0;
    for (unsigned row = 0; row < 16; ++row) {
      for (unsigned column = 0; column < 8; ++column) {
        int expected = 0;
        for (unsigned k = 0; k < 16; ++k) expected += number(row, k) * number(k + 5, column);
        if (product[row][column] != static_cast<float>(expected)) ++wrong;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("ldmatrix hands out rows, or columns when it transposes", "[emulator]") {
  for (const std::uint64_t seed : kSeeds) {
    const SeedGuard guard(seed);
    int wrong = 0;
    const KernelResult result = run(1, 64, [&] {
      struct alignas(16) Row {
        std::uint16_t values[8];
      };
      __shared__ Row rows[2][32];
      const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
      for (unsigned column = 0; column < 8; ++column) {
        rows[warp][lane].values[column] = static_cast<std::uint16_t>(warp * 1000 + lane * 8 + column);
      }
      __syncwarp();
      const auto expected = [&](unsigned matrix, unsigned row, unsigned column) {
        return warp * 1000 + (matrix * 8 + row) * 8 + column;
      };
      const auto check = [&](const std::uint32_t* fragments, unsigned count, bool is_transposed) {
        for (unsigned m = 0; m < count; ++m) {
          const unsigned low = is_transposed ? expected(m, 2 * t, g) : expected(m, g, 2 * t);
          const unsigned high = is_transposed ? expected(m, 2 * t + 1, g) : expected(m, g, 2 * t + 1);
          if (fragments[m] != (low | high << 16)) ++wrong;
        }
      };
      std::uint32_t four[4], two[2], one[1];
      device::ldmatrix_x4(four, &rows[warp][lane]);
      check(four, 4, false);
      device::ldmatrix_x4_transposed(four, &rows[warp][lane]);
      check(four, 4, true);
      device::ldmatrix_x2(two, &rows[warp][lane % 16]);
      check(two, 2, false);
      device::ldmatrix_x2_transposed(two, &rows[warp][lane % 16]);
      check(two, 2, true);
      device::ldmatrix_x1(one, lane < 8 ? &rows[warp][lane] : nullptr);  // other lanes' addresses count for nothing
      check(one, 1, false);
    });
    CHECK(result.is_ok);
    CHECK(wrong == 0);
  }
}

TEST_CASE("cp.async copies when its group is waited for, not before", "[emulator]") {
  struct alignas(16) Four {
    int values[4];
  };
  const std::vector<Four> source = {{{1, 2, 3, 4}}, {{5, 6, 7, 8}}, {{9, 10, 11, 12}}};
  std::array<std::array<int, 3>, 4> seen{};
  const KernelResult result = run(1, 1, [&] {
    __shared__ Four target[3];
    for (Four& each : target) each = {{0, 0, 0, 0}};
    const auto look = [&](std::size_t when) {
      for (std::size_t index = 0; index < 3; ++index) seen[when][index] = target[index].values[3];
    };
    device::cp_async16(&target[0], &source[0]);
    device::cp_async_commit();
    device::cp_async16(&target[1], &source[1]);
    device::cp_async_commit();
    device::cp_async16_zero_fill(&target[2], &source[2], 12);
    target[2].values[3] = 99;
    look(0);
    device::cp_async_wait<1>();
    look(1);
    device::cp_async_wait<0>();  // the third copy is in no group yet
    look(2);
    device::cp_async_commit();
    device::cp_async_wait<0>();
    look(3);
  });
  CHECK(result.is_ok);
  CHECK(seen[0] == std::array{0, 0, 99});
  CHECK(seen[1] == std::array{4, 0, 99});
  CHECK(seen[2] == std::array{4, 8, 99});
  CHECK(seen[3] == std::array{4, 8, 0});
}

TEST_CASE("An address that cp.async cannot take ends the kernel", "[emulator]") {
  alignas(16) static int source[8];
  const KernelResult result = run(1, 1, [&] {
    alignas(16) __shared__ int target[8];
    device::cp_async16(&target[0], &source[1]);
  });
  CHECK_FALSE(result.is_ok);
  CHECK_THAT(result.message, ContainsSubstring("not a multiple of 16"));
}
