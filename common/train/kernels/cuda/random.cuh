#pragma once
/// @file
/// The random factors behind every dropout, the same as on the CPU (kernels/cpu/dropout_factors.hpp). Element
/// 64 g + 16 w + n of a sample is decided by word w of Philox block 16 g + n, so one block of four words decides four
/// elements that are 16 apart.
#include <cuda_runtime.h>

#include <cstdint>

#include "base/philox.hpp"
#include "kernels/arguments.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

/// A dropout in the form that kernels need.
struct DropoutRule {
  std::uint64_t key;
  const std::int64_t* sample_ids;  // [B]; null: nothing is dropped
  std::uint32_t threshold;         // an element whose word is below it is dropped
  float kept_factor;               // 1 / (1 - probability)
  std::int64_t first_element;      // for attention: strided_factors() adds it to its elements' indices
};

/// @pre  The mask is not active or has sample ids.
inline DropoutRule rule_of(const Dropout& mask) {
  return {mask.key, mask.is_active() ? mask.sample_ids : nullptr,
          static_cast<std::uint32_t>(static_cast<double>(mask.probability) * 4294967296.0),
          1.0F / (1.0F - mask.probability), mask.first_element};
}

/// The four words that decide elements 64 group + 16 w + n, w = 0..3.
__device__ inline void dropout_words(std::uint32_t (&words)[4], const DropoutRule& rule, std::uint64_t sample_id,
                                     std::uint64_t group, std::uint32_t n) {
  const std::uint64_t block = 16 * group + n;
  words[0] = static_cast<std::uint32_t>(block);
  words[1] = static_cast<std::uint32_t>(block >> 32);
  words[2] = static_cast<std::uint32_t>(sample_id);
  words[3] = static_cast<std::uint32_t>(sample_id >> 32);
  philox4x32_rounds(rule.key, words);
}

/// 0, or 1 / (1 - probability).
__device__ inline float factor_of(const DropoutRule& rule, std::uint32_t word) {
  return word < rule.threshold ? 0.0F : rule.kept_factor;
}

/// A dropped element is 0 even if the value is infinite, as with a stored boolean mask.
__device__ inline float thinned(float value, float factor) { return factor == 0.0F ? 0.0F : value * factor; }

/// The factors of elements first_element + first + 16 k. A group of 64 elements begins at most once within them, so one
/// or two Philox blocks serve all kCount <= 4.
template <int kCount>
__device__ inline void strided_factors(float (&factors)[kCount], const DropoutRule& rule, std::uint64_t sample_id,
                                       std::int64_t first) {
  static_assert(kCount <= 4);
  first += rule.first_element;
  const auto n = static_cast<std::uint32_t>(first % 16);
  const int first_word = static_cast<int>(first / 16 % 4);
  const auto group = static_cast<std::uint64_t>(first / 64);
  std::uint32_t words[4];
  for (int next = 0; next < 2; ++next) {
    if (first_word + kCount <= 4 * next) return;
    dropout_words(words, rule, sample_id, group + static_cast<std::uint64_t>(next), n);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
#pragma unroll
      for (int w = 0; w < 4; ++w) {  // compared, not indexed: words stay in registers
        if (first_word + k == 4 * next + w) factors[k] = factor_of(rule, words[w]);
      }
    }
  }
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
