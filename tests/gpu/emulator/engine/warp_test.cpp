#include <array>
#include <bit>
#include <vector>

#include "run_kernel.hpp"
#include "support/catch.hpp"

using namespace lockstep::emulator;
using namespace lockstep::emulator::test;

namespace {

/// The lanes of the last warp of a block may be fewer than 32.
unsigned lanes_of_warp(unsigned warp, unsigned threads) { return threads - warp * 32 < 32 ? threads - warp * 32 : 32; }
unsigned mask_of(unsigned lanes) { return lanes == 32 ? ~0U : (1U << lanes) - 1; }

/// Runs `body(lane, lanes)` in every thread of every block size and order; it returns whether all is right.
template <typename Body>
void check_every_lane(Body body) {
  for_each_order_and_size([&](std::uint64_t seed, unsigned threads) {
    INFO("seed " << seed << ", " << threads << " threads");
    unsigned right = 0;
    const KernelResult result = run(2, threads, [&] {
      const unsigned lanes = lanes_of_warp(threadIdx.x / 32, blockDim.x);
      if (body(threadIdx.x % 32, lanes)) ++right;
    });
    CHECK(result.is_ok);
    CHECK(right == 2 * threads);
  });
}

template <std::size_t kBytes>
struct Pattern {
  std::array<unsigned char, kBytes> bytes;
  explicit Pattern(unsigned lane) {
    for (std::size_t index = 0; index < kBytes; ++index) bytes[index] = static_cast<unsigned char>(lane * 7 + index);
  }
  bool operator==(const Pattern&) const = default;
};

template <std::size_t kBytes>
bool rotates(unsigned lane, unsigned lanes) {
  Pattern<kBytes> value(lane);
  const unsigned source = (lane + 1) % lanes;
  shuffle(ShuffleKind::kIndex, ~0U, &value, kBytes, source, 32, SourcePlace::here());
  return value == Pattern<kBytes>(source);
}

}  // namespace

TEST_CASE("A shuffle by index reads the named lane of its segment, for every width", "[emulator]") {
  check_every_lane([](unsigned lane, unsigned lanes) {
    bool is_right = true;
    for (int width = 1; width <= 32; width *= 2) {
      for (int source = 0; source < 40; source += 3) {
        const unsigned named =
            lane / static_cast<unsigned>(width) * static_cast<unsigned>(width) + static_cast<unsigned>(source % width);
        const int got = __shfl_sync(mask_of(lanes), static_cast<int>(lane) * 5 + 1, source, width);
        if (named < lanes) is_right = is_right && got == static_cast<int>(named) * 5 + 1;
      }
    }
    return is_right;
  });
}

TEST_CASE("Shuffles up, down and across keep to their segments", "[emulator]") {
  check_every_lane([](unsigned lane, unsigned lanes) {
    bool is_right = true;
    for (unsigned width = 1; width <= 32; width *= 2) {
      const unsigned begin = lane / width * width, end = begin + width;
      for (unsigned delta = 0; delta < 32; delta = delta * 2 + 1) {
        const auto value = static_cast<float>(lane);
        const auto expect = [&](float got, unsigned source) {
          if (source < lanes) is_right = is_right && got == static_cast<float>(source);
        };
        const int signed_width = static_cast<int>(width);
        expect(__shfl_up_sync(~0U, value, delta, signed_width), lane >= begin + delta ? lane - delta : lane);
        expect(__shfl_down_sync(~0U, value, delta, signed_width), lane + delta < end ? lane + delta : lane);
        expect(__shfl_xor_sync(~0U, value, static_cast<int>(delta), signed_width),
               (lane ^ delta) < end ? lane ^ delta : lane);
      }
    }
    return is_right;
  });
}

TEST_CASE("Shuffles move values of 1 to 16 bytes", "[emulator]") {
  check_every_lane([](unsigned lane, unsigned lanes) {
    return rotates<1>(lane, lanes) && rotates<2>(lane, lanes) && rotates<3>(lane, lanes) && rotates<4>(lane, lanes) &&
           rotates<8>(lane, lanes) && rotates<12>(lane, lanes) && rotates<16>(lane, lanes);
  });
}

TEST_CASE("A butterfly of shuffles sums each half of a warp on its own", "[emulator]") {
  check_every_lane([](unsigned lane, unsigned lanes) {
    if (lanes < 32) return true;
    const unsigned mask = lane < 16 ? 0x0000ffffU : 0xffff0000U;
    int sum = static_cast<int>(lane);
    for (int rounds = 0; rounds < (lane < 16 ? 1 : 3); ++rounds) {  // the halves need not take turns
      sum = static_cast<int>(lane);
      for (int step = 8; step > 0; step /= 2) sum += __shfl_xor_sync(mask, sum, step);
    }
    return sum == (lane < 16 ? 120 : 376);
  });
}

TEST_CASE("Votes see the lanes that have not ended", "[emulator]") {
  check_every_lane([](unsigned lane, unsigned lanes) {
    const unsigned all = mask_of(lanes);
    bool is_right = __ballot_sync(~0U, lane % 3 == 0 ? 4 : 0) == (0x49249249U & all);
    is_right = is_right && __all_sync(~0U, lane < lanes) == 1 && __any_sync(~0U, lane == lanes) == 0;
    return is_right && __any_sync(~0U, lane == 0) == 1 && __all_sync(~0U, lane == 0) == (lanes == 1 ? 1 : 0);
  });
}

TEST_CASE("Matches find equal values", "[emulator]") {
  check_every_lane([](unsigned lane, unsigned lanes) {
    const unsigned all = mask_of(lanes), third = 0x49249249U << (lane % 3);
    int are_equal = 7;
    bool is_right = __match_any_sync(~0U, static_cast<unsigned long long>(lane % 3) << 40) == (third & all);
    is_right = is_right && __match_all_sync(~0U, 2.5, &are_equal) == all && are_equal == 1;
    const unsigned different = __match_all_sync(~0U, static_cast<int>(lane), &are_equal);
    return is_right && (lanes == 1 ? different == 1 && are_equal == 1 : different == 0 && are_equal == 0);
  });
}

TEST_CASE("Reductions of integers are those of the lanes that have not ended", "[emulator]") {
  check_every_lane([](unsigned lane, unsigned lanes) {
    const unsigned last = lanes - 1;
    const int own = static_cast<int>(lane) - 3;
    unsigned all_or = 0, all_xor = 0, all_and = ~0U;
    for (unsigned each = 0; each < lanes; ++each) all_or |= each, all_xor ^= each, all_and &= each;
    bool is_right = __reduce_add_sync(~0U, lane) == lanes * last / 2;
    is_right =
        is_right && __reduce_add_sync(~0U, own) == static_cast<int>(lanes * last / 2) - 3 * static_cast<int>(lanes);
    is_right =
        is_right && __reduce_min_sync(~0U, own) == -3 && __reduce_max_sync(~0U, own) == static_cast<int>(last) - 3;
    is_right = is_right && __reduce_min_sync(~0U, static_cast<unsigned>(own)) == (lanes > 3 ? 0U : ~2U);
    is_right =
        is_right && __reduce_max_sync(~0U, static_cast<unsigned>(own)) == static_cast<unsigned>(lanes > 2 ? -1 : -3);
    return is_right && __reduce_or_sync(~0U, lane) == all_or && __reduce_xor_sync(~0U, lane) == all_xor &&
           __reduce_and_sync(~0U, lane) == all_and;
  });
}

TEST_CASE("Lanes that have ended are not waited for, and what they would bring is undefined", "[emulator]") {
  for (const std::uint64_t seed : kSeeds) {
    const SeedGuard guard(seed);
    std::vector<float> got(32);
    const KernelResult result = run(1, 32, [&] {
      if (threadIdx.x >= 20) return;
      got[threadIdx.x] = __shfl_down_sync(~0U, static_cast<float>(threadIdx.x), 4);
    });
    CHECK(result.is_ok);
    CHECK(got[15] == 19.0F);
    CHECK(got[16] != got[16]);  // not a number: a wrong result that is seen
  }
}

TEST_CASE("The active mask names the lanes of one branch", "[emulator]") {
  for (const std::uint64_t seed : kSeeds) {
    const SeedGuard guard(seed);
    int wrong = 0;
    const KernelResult result = run(1, 64, [&] {
      if (__activemask() != ~0U) ++wrong;
      if (threadIdx.x % 2 == 0) {
        const unsigned mask = __activemask();
        const int leader = __shfl_sync(mask, static_cast<int>(threadIdx.x), std::countr_zero(mask));
        if (mask != 0x55555555U || leader != static_cast<int>(threadIdx.x / 32 * 32)) ++wrong;
      }
    });
    CHECK(result.is_ok);
    CHECK(wrong == 0);
  }
}
