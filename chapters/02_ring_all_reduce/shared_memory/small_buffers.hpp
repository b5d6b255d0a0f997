#pragma once
/// @file
/// Size limits of buffers that go through the slots in which ranks meet.
#include <algorithm>
#include <array>
#include <cstddef>

namespace lockstep::ring {

/// Largest buffers that go through the slots. Equal on all ranks.
struct SmallBufferLimits {
  std::size_t private_bytes = 0;     ///< If all ranks have private memory.
  std::size_t registered_bytes = 0;  ///< If any has registered memory; at most private_bytes.
};

/// The limits for up to `world_size` ranks.
struct SmallBufferRow {
  int world_size = 0;        ///< The last row applies to any larger number too.
  SmallBufferLimits limits;  ///< In bytes of the whole buffer.
};

/// Measured crossover on a machine with two cores (AMD EPYC 9005 in a virtual machine; shared_memory_bench, float32
/// sum). Microseconds through the slots / in segments / in place:
///            2 KiB                4 KiB                16 KiB               32 KiB
///   2 ranks  0.29 / 0.40 / 0.27   0.39 / 0.43 / 0.28   1.1 / 0.80 / 0.40    2.4 / 1.5 / 0.52
///   4 ranks  2.9 / 5.5 / 5.1      3.3 / 5.8 / 5.5      5.0 / 6.9 / 5.6      7.2 / 8.3 / 6.3
///   8 ranks  7.7 / 13 / 14        9.2 / 14 / 14        14 / 16 / 15         20 / 20 / 16
inline constexpr std::array<SmallBufferRow, 3> kSmallBufferRows{
    {{2, {4 << 10, 1 << 10}}, {4, {32 << 10, 16 << 10}}, {8, {16 << 10, 16 << 10}}}};

/// The measured limits for `world_size` ranks.
[[nodiscard]] constexpr SmallBufferLimits small_buffer_limits(int world_size) noexcept {
  const auto row =
      std::ranges::find_if(kSmallBufferRows, [&](const auto& each) { return world_size <= each.world_size; });
  return row == kSmallBufferRows.end() ? kSmallBufferRows.back().limits : row->limits;
}

}  // namespace lockstep::ring
