#pragma once
/// @file
/// Moves elements between memory and registers: W of them in one access of up to 16 bytes, float32 in registers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "base/dtype.hpp"
#include "kernels/types.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

/// Elements of type S in one 16-byte access.
template <typename S>
inline constexpr int kPackWidth = static_cast<int>(16 / sizeof(S));

/// W elements in memory; its alignment makes the compiler move it with one instruction.
template <typename S, int W>
struct alignas(sizeof(S) * W) Pack {
  S at[W];
};

/// W elements in registers. Index them in unrolled loops only: an index known at run time moves them to local memory.
template <int W>
struct Floats {
  float at[W];
};

__device__ inline float widened(float value) { return value; }
__device__ inline float widened(BFloat16 value) { return __uint_as_float(static_cast<unsigned int>(value.bits) << 16); }
__device__ inline float widened(Float16 value) { return __half2float(__ushort_as_half(value.bits)); }

template <typename S>
__device__ inline S narrowed(float value) {
  if constexpr (std::is_same_v<S, float>) {
    return value;
  } else if constexpr (std::is_same_v<S, Float16>) {
    return {__half_as_ushort(__float2half_rn(value))};  // infinite above 65504, which a gradient scaler looks for
  } else {
    return {__bfloat16_as_ushort(__float2bfloat16_rn(value))};
  }
}

/// Elements [i, i + W) of `from` in accesses of at most 16 bytes; for W > 1 their address is a multiple of an access.
template <int W, typename S>
__device__ inline Floats<W> load(const S* from, std::int64_t i) {
  constexpr int kPart = W < kPackWidth<S> ? W : kPackWidth<S>;
  Floats<W> values;
#pragma unroll
  for (int part = 0; part < W; part += kPart) {
    const Pack<S, kPart> pack = *reinterpret_cast<const Pack<S, kPart>*>(from + i + part);
#pragma unroll
    for (int k = 0; k < kPart; ++k) values.at[part + k] = widened(pack.at[k]);
  }
  return values;
}

/// Writes what load() reads; rounds to nearest, ties to even.
template <int W, typename S>
__device__ inline void store(S* to, std::int64_t i, const Floats<W>& values) {
  constexpr int kPart = W < kPackWidth<S> ? W : kPackWidth<S>;
#pragma unroll
  for (int part = 0; part < W; part += kPart) {
    Pack<S, kPart> pack;
#pragma unroll
    for (int k = 0; k < kPart; ++k) pack.at[k] = narrowed<S>(values.at[part + k]);
    *reinterpret_cast<Pack<S, kPart>*>(to + i + part) = pack;
  }
}

/// Whether packs may be read and written at each of these addresses (null counts as yes).
template <typename... Pointers>
bool are_aligned(const Pointers*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

/// Whether rows of `columns` elements that start at these addresses all begin at a multiple of 16 bytes.
template <typename S, typename... Pointers>
bool are_rows_aligned(std::int64_t columns, const Pointers*... pointers) {
  return columns % kPackWidth<S> == 0 && are_aligned(pointers...);
}

/// Blocks of `size` that cover `count`.
[[nodiscard]] constexpr std::int64_t blocks_for(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

/// Stores `values` at `out`, or adds them to `out`.
template <int W, typename S>
__device__ void write_pack(S* out, std::int64_t i, Floats<W> values, Write write) {
  if (write == Write::kAdd) {
    const Floats<W> before = load<W>(out, i);
#pragma unroll
    for (int k = 0; k < W; ++k) values.at[k] += before.at[k];
  }
  store(out, i, values);
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
