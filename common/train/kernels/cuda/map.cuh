#pragma once
/// @file
/// Operations on one element at a time: which thread works on which elements. An operation is a struct of pointers
/// with `template <int W> __device__ void run(std::int64_t i) const`, which works on elements [i, i + W).
#include "kernels/cuda/launching.cuh"
#include "kernels/cuda/packs.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

inline constexpr int kMapThreads = 256;

/// One thread, one pack of W elements; the last thread takes the rest, element by element.
///
/// Launch: blocks_for(count, W * kMapThreads) blocks of kMapThreads. Traffic: that of the operation, once.
template <int W, typename Operation>
__global__ void __launch_bounds__(kMapThreads) map_elements(Operation operation, std::int64_t count) {
  const std::int64_t i = (std::int64_t{blockIdx.x} * kMapThreads + threadIdx.x) * W;
  if (i + W <= count) {
    operation.template run<W>(i);
  } else {
    for (std::int64_t rest = i; rest < count; ++rest) operation.template run<1>(rest);
  }
}

/// Runs `operation` over `count` elements, one per thread: for inputs whose neighbours are not neighbours in the
/// result.
template <typename Operation>
void map_single(const Operation& operation, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned int>(blocks_for(count, kMapThreads));
  cuda_check(launch(map_elements<1, Operation>, dim3(blocks), dim3(kMapThreads), 0, stream, operation, count));
}

/// Runs `operation` over `count` elements stored as S. `is_aligned`: all its pointers are multiples of 16 bytes.
template <typename S, typename Operation>
void map(const Operation& operation, std::int64_t count, bool is_aligned, cudaStream_t stream) {
  if (!is_aligned) return map_single(operation, count, stream);
  if (count == 0) return;
  constexpr int kWidth = kPackWidth<S>;
  const auto blocks = static_cast<unsigned int>(blocks_for(count, std::int64_t{kWidth} * kMapThreads));
  cuda_check(launch(map_elements<kWidth, Operation>, dim3(blocks), dim3(kMapThreads), 0, stream, operation, count));
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
