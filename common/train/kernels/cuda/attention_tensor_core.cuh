#pragma once
/// @file
/// Tiles of S, bfloat16 or float16, for tensor cores: from global to shared memory, and from there to the fragments of
/// mma.m16n8k16 (device/tensor_core.hpp says which lane holds what; g = lane / 4, t = lane % 4).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "device/tensor_core.hpp"
#include "kernels/cuda/launching.cuh"
#include "kernels/cuda/packs.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

inline constexpr int kCoreTile = 64;  // rows of a tile: queries of a block, keys of a step
inline constexpr int kCoreThreads = 128;
inline constexpr int kCoreParts = kCoreTile / 8;  // of 8 keys

/// Elements between the rows of a tile in shared memory: 16 bytes more than a row, so that the 8 rows of one ldmatrix
/// fall into different banks.
template <int kD>
inline constexpr int kCoreStride = kD + 8;

/// tile[r, c] = from[r, c] for r < valid and c < head_size, else 0. Asynchronous if rows are aligned: needs a commit
/// and a wait.
template <int kD, typename S>
__device__ inline void copy_core_tile(S* tile, const S* from, std::int64_t stride, std::int64_t valid, int head_size,
                                      bool is_aligned) {
  constexpr int W = kPackWidth<S>, kPacks = kD / W;
  for (int pack = static_cast<int>(threadIdx.x); pack < kCoreTile * kPacks; pack += kCoreThreads) {
    const int row = pack / kPacks, c = pack % kPacks * W;
    S* const to = tile + row * kCoreStride<kD> + c;
    if (is_aligned) {
      const bool is_there = row < valid && c < head_size;
      device::cp_async16_zero_fill(to, is_there ? from + row * stride + c : from, is_there ? 16 : 0);
    } else {
      for (int k = 0; k < W; ++k) to[k] = row < valid && c + k < head_size ? from[row * stride + c + k] : S{};
    }
  }
}

/// Fragments of 16 rows of a tile, columns [16 part, 16 part + 16): the left factor.
template <int kD, typename S>
__device__ inline void load_left(std::uint32_t (&fragment)[4], const S* rows, int part) {
  const int lane = static_cast<int>(threadIdx.x) % 32, matrix = lane / 8;
  device::ldmatrix_x4(fragment, rows + (lane % 8 + matrix % 2 * 8) * kCoreStride<kD> + 16 * part + matrix / 2 * 8);
}

/// Fragments of the transpose of 16 rows of a tile, as the right factor of two products: its columns are those rows,
/// its rows the tile's columns [16 part, 16 part + 16).
template <int kD, typename S>
__device__ inline void load_right_transposed(std::uint32_t (&fragments)[4], const S* rows, int part) {
  const int lane = static_cast<int>(threadIdx.x) % 32, matrix = lane / 8;
  device::ldmatrix_x4(fragments, rows + (lane % 8 + matrix / 2 * 8) * kCoreStride<kD> + 16 * part + matrix % 2 * 8);
}

/// Fragments of 16 rows of a tile as the right factor of two products, columns [16 part, 16 part + 16).
template <int kD, typename S>
__device__ inline void load_right(std::uint32_t (&fragments)[4], const S* rows, int part) {
  const int lane = static_cast<int>(threadIdx.x) % 32, matrix = lane / 8;
  device::ldmatrix_x4_transposed(fragments,
                                 rows + (lane % 8 + matrix % 2 * 8) * kCoreStride<kD> + 16 * part + matrix / 2 * 8);
}

template <typename S>
__device__ inline void multiply_add(float (&sums)[4], const std::uint32_t (&left)[4], const std::uint32_t (&right)[2]) {
  if constexpr (std::is_same_v<S, BFloat16>) {
    device::mma_m16n8k16_bf16(sums, left, right, sums);
  } else {
    device::mma_m16n8k16_f16(sums, left, right, sums);
  }
}

/// first += left times the first right factor, second += left times the second; their elements are S.
template <typename S>
__device__ inline void multiply_pair(float (&first)[4], float (&second)[4], const std::uint32_t (&left)[4],
                                     const std::uint32_t (&right)[4]) {
  const std::uint32_t low[2] = {right[0], right[1]}, high[2] = {right[2], right[3]};
  multiply_add<S>(first, left, low);
  multiply_add<S>(second, left, high);
}

/// Two elements of type S in one register, the first in the lower half.
template <typename S>
__device__ inline std::uint32_t packed(float first, float second) {
  std::uint32_t bits;
  if constexpr (std::is_same_v<S, BFloat16>) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
    __builtin_memcpy(&bits, &pair, sizeof bits);
  } else {
    const __half2 pair = __floats2half2_rn(first, second);
    __builtin_memcpy(&bits, &pair, sizeof bits);
  }
  return bits;
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
