#pragma once
/// @file
/// The random factors of every dropout. Internal to this module.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "base/philox.hpp"
#include "kernels/arguments.hpp"
#include "kernels/cpu/simd.hpp"

namespace lockstep::kernels {

/// Philox blocks of four words computed in parallel lanes.
inline constexpr int kPhiloxLanes = 16;
using PhiloxLane = std::array<std::uint32_t, kPhiloxLanes>;

/// Counters, each in the lower half of a 64-bit lane. The upper halves are ignored.
using PhiloxVector = std::uint64_t __attribute__((vector_size(kVectorBytes)));
inline constexpr int kCounters = kLanes<double>;  // of a PhiloxVector

/// The 64-bit products of the lower halves with `factor`.
[[nodiscard]] inline PhiloxVector multiply_lower(PhiloxVector a, std::uint64_t factor) noexcept {
#ifdef __AVX512F__
  return std::bit_cast<PhiloxVector>(
      _mm512_maskz_mul_epu32(0xFF, std::bit_cast<__m512i>(a), _mm512_set1_epi64(static_cast<std::int64_t>(factor))));
#elif defined(__AVX2__)
  return std::bit_cast<PhiloxVector>(
      _mm256_mul_epu32(std::bit_cast<__m256i>(a), _mm256_set1_epi64x(static_cast<std::int64_t>(factor))));
#else
  return (a & 0xFFFFFFFF) * factor;
#endif
}

/// philox4x32(key, stream, first_block + lane) for all lanes: words[w][lane]. A vectorized version of that function.
inline std::array<PhiloxLane, 4> philox_lanes(std::uint64_t key, std::uint64_t stream, std::uint64_t first_block) {
  std::array<PhiloxLane, 4> words;
  for (std::uint64_t first = 0; first < kPhiloxLanes; first += kCounters) {
    PhiloxVector block;
    for (int lane = 0; lane < kCounters; ++lane) block[lane] = first_block + first + static_cast<std::uint64_t>(lane);
    PhiloxVector c0 = block, c1 = block >> 32, c2 = PhiloxVector{} + stream, c3 = c2 >> 32;
    std::uint64_t key0 = key, key1 = key >> 32;
    for (int round = 0; round < 10; ++round) {
      const PhiloxVector product0 = multiply_lower(c0, 0xD2511F53), product1 = multiply_lower(c2, 0xCD9E8D57);
      c0 = (product1 >> 32) ^ c1 ^ key0;
      c1 = product1;
      c2 = (product0 >> 32) ^ c3 ^ key1;
      c3 = product0;
      key0 += 0x9E3779B9;  // carries into the unused upper half
      key1 += 0xBB67AE85;
    }
    const std::array<PhiloxVector, 4> last{c0, c1, c2, c3};
    for (std::size_t word = 0; word < 4; ++word) {
      for (std::size_t lane = 0; lane < kCounters; ++lane)
        words[word][first + lane] = static_cast<std::uint32_t>(last[word][lane]);
    }
  }
  return words;
}

/// Writes the factors (0, or 1 / (1 - probability)) of elements [first, first + count) of one sample. Elements come in
/// groups of 64 = 4 words of 16 Philox blocks: element 64 g + 16 w + n is decided by word w of block 16 g + n, and
/// dropped if that word is below probability * 2^32.
template <typename T>
void dropout_factors(T* factors, const Dropout& mask, std::int64_t sample_id, std::int64_t first, std::int64_t count) {
  const auto threshold = static_cast<std::uint32_t>(static_cast<double>(mask.probability) * 0x1.0p32);
  const T kept = T{1} / (T{1} - static_cast<T>(mask.probability));
  constexpr std::int64_t kGroup = 4 * kPhiloxLanes;
  for (std::int64_t group = first / kGroup * kGroup; group < first + count; group += kGroup) {
    const auto words =
        philox_lanes(mask.key, static_cast<std::uint64_t>(sample_id), static_cast<std::uint64_t>(group / 4));
    std::array<T, kGroup> chunk;
    for (std::size_t word = 0; word < 4; ++word) {
      for (std::size_t lane = 0; lane < kPhiloxLanes; ++lane) {
        chunk[word * kPhiloxLanes + lane] = words[word][lane] < threshold ? T{0} : kept;
      }
    }
    const std::int64_t begin = std::max(group, first), end = std::min(group + kGroup, first + count);
    std::copy_n(chunk.data() + (begin - group), end - begin, factors + (begin - first));
  }
}

/// A dropped element is 0 even if the value is infinite, as with a stored boolean mask.
template <typename T>
[[nodiscard]] T dropped(T value, T factor) {
  return factor == T{0} ? T{0} : value * factor;
}

template <typename T>
[[nodiscard]] Vector<T> dropped_lanes(Vector<T> values, Vector<T> factors) {
  return factors == T{0} ? Vector<T>{} : values * factors;
}

}  // namespace lockstep::kernels
