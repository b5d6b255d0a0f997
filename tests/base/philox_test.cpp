#include "base/philox.hpp"

#include <cmath>
#include <set>

#include "support/catch.hpp"

using namespace lockstep;

TEST_CASE("philox4x32-10 gives the published known answers", "[base]") {
  // Random123's kat_vectors: all zero, all ones, and digits of pi.
  CHECK(philox4x32(0, PhiloxWords{0, 0, 0, 0}) == PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32(~std::uint64_t{0}, PhiloxWords{~0U, ~0U, ~0U, ~0U}) ==
        PhiloxWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32(0x299f31d0a4093822, PhiloxWords{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
        PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("normal values have mean 0 and variance 1", "[base]") {
  PhiloxSequence words(7);
  constexpr int kPairs = 50000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kPairs; ++i) {
    const std::uint32_t word0 = words.next_word(), word1 = words.next_word();
    for (const double value : normal_floats(word0, word1)) {
      sum += value;
      squares += value * value;
    }
  }
  // 100 000 draws: the standard error of the mean is 0.0032, of the variance 0.0045; five of each are allowed.
  CHECK(std::abs(sum / (2 * kPairs)) < 0.016);
  CHECK(std::abs(squares / (2 * kPairs) - 1) < 0.0225);
}

TEST_CASE("next_below covers its range and stays in it", "[base]") {
  PhiloxSequence words(3);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 400; ++i) seen.insert(words.next_below(7));
  CHECK(seen == std::set<std::uint64_t>{0, 1, 2, 3, 4, 5, 6});
}
