#pragma once
/// @file
/// bfloat16 in memory, float32 in registers. Internal to this module.
#include "base/bfloat16.hpp"
#include "kernels/cpu/simd.hpp"

namespace lockstep::kernels {

template <typename S>
struct ComputeOf {
  using Type = S;
};
template <>
struct ComputeOf<BFloat16> {
  using Type = float;
};
/// The type for computing with elements stored as S: float for bfloat16, else S itself.
template <typename S>
using Compute = typename ComputeOf<S>::Type;

/// Converts one element when it is loaded or stored.
[[nodiscard]] inline float widened(BFloat16 value) noexcept { return to_float(value); }
template <typename T>
[[nodiscard]] T widened(T value) noexcept {
  return value;
}
template <typename S>
[[nodiscard]] S narrowed(Compute<S> value) noexcept {
  if constexpr (std::is_same_v<S, BFloat16>) {
    return to_bfloat16(value);
  } else {
    return value;
  }
}

using HalfWords = std::uint16_t __attribute__((vector_size(kVectorBytes / 2)));
using UnalignedHalfWords = std::uint16_t __attribute__((vector_size(kVectorBytes / 2), aligned(2), may_alias));
using Words = std::uint32_t __attribute__((vector_size(kVectorBytes)));

[[nodiscard]] inline Vector<float> widened(HalfWords bits) noexcept {
  return std::bit_cast<Vector<float>>(__builtin_convertvector(bits, Words) << 16);
}

/// Rounds to nearest, ties to even. If the processor has an instruction for it, results below 2^-126 become 0.
[[nodiscard]] inline HalfWords narrowed(Vector<float> value) noexcept {
#ifdef __AVX512BF16__
  return std::bit_cast<HalfWords>(_mm512_cvtneps_pbh(std::bit_cast<__m512>(value)));
#else
  const Words bits = std::bit_cast<Words>(value);
  const Words rounded = bits + 0x7FFF + ((bits >> 16) & 1);
  const Words chosen = value != value ? bits | 0x00400000 : rounded;
  return __builtin_convertvector(chosen >> 16, HalfWords);
#endif
}

[[nodiscard]] inline Vector<float> load(const BFloat16* from) noexcept {
  return widened(HalfWords(*reinterpret_cast<const UnalignedHalfWords*>(from)));
}
[[nodiscard]] inline Vector<float> load(const BFloat16* from, int lanes) noexcept {
  HalfWords bits{};
  for (int lane = 0; lane < lanes; ++lane) bits[lane] = from[lane].bits;
  return widened(bits);
}
[[nodiscard]] inline Vector<float> load(const BFloat16* from, AllLanes<float>) noexcept { return load(from); }

inline void store(BFloat16* to, Vector<float> value) noexcept {
  *reinterpret_cast<UnalignedHalfWords*>(to) = narrowed(value);
}
inline void store(BFloat16* to, Vector<float> value, int lanes) noexcept {
  const HalfWords bits = narrowed(value);
  for (int lane = 0; lane < lanes; ++lane) to[lane].bits = bits[lane];
}
inline void store(BFloat16* to, Vector<float> value, AllLanes<float>) noexcept { store(to, value); }

}  // namespace lockstep::kernels
