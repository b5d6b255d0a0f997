#pragma once
/// @file
/// Philox4x32-10: random numbers as a pure function of (key, counter). Any rank on any device can compute any element
/// of any stream on its own, so results do not depend on how work is divided.
/// @source Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011, section 3.
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/host_device.hpp"

namespace lockstep {

/// Four 32-bit words.
using PhiloxWords = std::array<std::uint32_t, 4>;

/// Ten rounds of Philox4x32 on a plain array, for host and device code.
/// @param key    Names the stream, for example a seed.
/// @param words  In: the counter, which names the block of four words in the stream; out: the four words.
LOCKSTEP_HOST_DEVICE constexpr void philox4x32_rounds(std::uint64_t key, std::uint32_t (&words)[4]) noexcept {
  constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * words[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * words[2];
    words[0] = static_cast<std::uint32_t>(product1 >> 32) ^ words[1] ^ key0;
    words[1] = static_cast<std::uint32_t>(product1);
    words[2] = static_cast<std::uint32_t>(product0 >> 32) ^ words[3] ^ key1;
    words[3] = static_cast<std::uint32_t>(product0);
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
}

/// Ten rounds of Philox4x32.
/// @param key      Names the stream, for example a seed.
/// @param counter  Names the block of four words in the stream.
/// @return         Four words, each uniform over all 32-bit values.
[[nodiscard]] constexpr PhiloxWords philox4x32(std::uint64_t key, PhiloxWords counter) noexcept {
  std::uint32_t words[4] = {counter[0], counter[1], counter[2], counter[3]};
  philox4x32_rounds(key, words);
  return {words[0], words[1], words[2], words[3]};
}

/// The same with the counter given as two 64-bit halves: `stream` in the upper words, `block` in the lower.
[[nodiscard]] constexpr PhiloxWords philox4x32(std::uint64_t key, std::uint64_t stream, std::uint64_t block) noexcept {
  return philox4x32(key, PhiloxWords{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                                     static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)});
}

/// Mixes two 64-bit values into one, for deriving a key from several (seed, step, layer).
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t a, std::uint64_t b) noexcept {
  const PhiloxWords words = philox4x32(a, b, 0);
  return (std::uint64_t{words[1]} << 32) | words[0];
}

/// A float in [0, 1) with 24 random bits.
[[nodiscard]] constexpr float uniform_float(std::uint32_t word) noexcept {
  return static_cast<float>(word >> 8) * 0x1.0p-24F;
}

/// Two independent standard normal values from two words (Box and Muller, Ann. Math. Statist. 29(2), 1958).
[[nodiscard]] inline std::array<float, 2> normal_floats(std::uint32_t word0, std::uint32_t word1) noexcept {
  const double radius_uniform =
      (static_cast<double>(word0) + 1.0) * 0x1.0p-32;  // in (0, 1], so the logarithm is finite
  const double radius = std::sqrt(-2.0 * std::log(radius_uniform));
  const double angle = 2.0 * std::numbers::pi * static_cast<double>(word1) * 0x1.0p-32;
  return {static_cast<float>(radius * std::cos(angle)), static_cast<float>(radius * std::sin(angle))};
}

/// The words of one Philox stream one after another, for sequential code (shuffles, tests).
class PhiloxSequence {
 public:
  /// @param key     As in philox4x32.
  /// @param stream  Streams of one key never overlap.
  explicit PhiloxSequence(std::uint64_t key, std::uint64_t stream = 0) noexcept : key_(key), stream_(stream) {}

  /// The next 32 random bits.
  [[nodiscard]] std::uint32_t next_word() noexcept {
    if (used_ == 4) {
      words_ = philox4x32(key_, stream_, block_++);
      used_ = 0;
    }
    return words_[used_++];
  }

  /// The next 64 random bits: two words, the low one first.
  [[nodiscard]] std::uint64_t next_word64() noexcept {
    const std::uint64_t low = next_word();
    return (std::uint64_t{next_word()} << 32) | low;
  }

  /// A uniform integer in [0, bound) without bias; bound >= 1.
  [[nodiscard]] std::uint64_t next_below(std::uint64_t bound) noexcept {
    const std::uint64_t rejected = (0 - bound) % bound;  // 2^64 mod bound values are rejected at the low end
    std::uint64_t word = next_word64();
    while (word < rejected) word = next_word64();
    return word % bound;
  }

 private:
  std::uint64_t key_;
  std::uint64_t stream_;
  std::uint64_t block_ = 0;
  PhiloxWords words_{};
  unsigned used_ = 4;
};

}  // namespace lockstep
