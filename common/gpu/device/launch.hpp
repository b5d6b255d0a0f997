#pragma once
/// @file
/// Portable spellings of `<<<>>>` and `extern __shared__`, for nvcc and for the emulator.
#include <cuda_runtime.h>

#include <concepts>
#include <cstddef>
#include <utility>

namespace lockstep::device {

#if defined(__CUDACC__)

/// Launches `kernel`; the arguments are converted to its parameters' types.
/// @return  cudaGetLastError() right after the launch: an error of this launch, or a pending one of an earlier call.
template <typename... Parameters, typename... Arguments>
[[nodiscard]] cudaError_t launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
                                 cudaStream_t stream, Arguments&&... arguments) {
  kernel<<<grid, block, shared_bytes, stream>>>(static_cast<Parameters>(std::forward<Arguments>(arguments))...);
  return cudaGetLastError();
}

/// The dynamic shared memory of the running block.
template <typename T>
__device__ __forceinline__ T* dynamic_shared() {
  extern __shared__ __align__(1024) unsigned char lockstep_dynamic_shared[];
  return reinterpret_cast<T*>(lockstep_dynamic_shared);
}

#else

/// The grid of a launch, and its source line: launch() ends in a parameter pack, so it cannot default the line itself.
struct PlacedGrid {
  dim3 grid;
  lockstep::emulator::SourcePlace place;
  /// As dim3.
  PlacedGrid(dim3 extents, lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) noexcept
      : grid(extents), place(at) {}
  /// As dim3{x, y, z}.
  PlacedGrid(unsigned x, unsigned y, unsigned z = 1,
             lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) noexcept
      : grid(x, y, z), place(at) {}
  /// A one-dimensional grid.
  template <std::integral Count>
  PlacedGrid(Count blocks, lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) noexcept
      : grid(static_cast<unsigned>(blocks)), place(at) {}
};

/// Launches `kernel`; the arguments are converted to its parameters' types.
/// @return  The error of this launch; cudaSuccess if there is none.
template <typename... Parameters, typename... Arguments>
[[nodiscard]] cudaError_t launch(void (*kernel)(Parameters...), PlacedGrid grid, dim3 block, std::size_t shared_bytes,
                                 cudaStream_t stream, Arguments&&... arguments) {
  return lockstep::emulator::launch_kernel(nullptr, kernel, {grid.grid, block, shared_bytes, stream}, grid.place,
                                           std::forward<Arguments>(arguments)...);
}

using lockstep::emulator::dynamic_shared;

#endif

}  // namespace lockstep::device
