#pragma once
/// @file
/// Checks and choices that the attention kernels share.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "base/error.hpp"
#include "kernels/arguments.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

inline constexpr int kLargestHead = 128;

// Scores are kept in powers of 2: e^s = 2^(s log2 e).
inline constexpr float kLog2E = 1.4426950408889634F;
inline constexpr float kLn2 = 0.6931471805599453F;
inline constexpr float kInfinity = __builtin_huge_valf();

/// D = C / H. @param out  [B T, C].
inline int head_size_of(const ConstArray& out, int heads) {
  const auto head_size = static_cast<int>(out.columns / heads);
  require(head_size <= kLargestHead, "attention on a device takes heads of up to ", kLargestHead, " channels, not ",
          head_size, " (", out.columns, " channels, ", heads, " heads): use more heads");
  return head_size;
}

/// A block for each tile, head and sample.
inline dim3 attention_grid(std::int64_t tiles, std::int64_t heads, std::int64_t samples) {
  constexpr std::int64_t kMost = 65535;  // of a grid's second and third extent
  require(heads <= kMost && samples <= kMost, "attention on a device takes up to ", kMost,
          " samples and as many heads at a time, not ", samples, " samples and ", heads,
          " heads: use smaller micro-batches");
  return {static_cast<unsigned int>(tiles), static_cast<unsigned int>(heads), static_cast<unsigned int>(samples)};
}

/// Calls body with D padded to 32, 64 or 128 as a type.
template <typename Body>
void on_padded_head_size(int head_size, const Body& body) {
  if (head_size <= 32) return body(std::integral_constant<int, 32>{});
  if (head_size <= 64) return body(std::integral_constant<int, 64>{});
  body(std::integral_constant<int, kLargestHead>{});
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
