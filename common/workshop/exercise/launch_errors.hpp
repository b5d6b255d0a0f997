#pragma once
/// @file
/// CUDA's errors for a learner's launches. Unlike cuda_check(), names no line: it would be one of ours.
#include <cuda_runtime_api.h>

#include "base/error.hpp"

namespace lockstep::exercise {

/// @param launched  cudaGetLastError() after the launches. @param run  cudaDeviceSynchronize() after that.
/// @throws Error  Either is an error.
inline void require_success(cudaError_t launched, cudaError_t run) {
  if (launched != cudaSuccess) throw Error(concat("CUDA refuses a launch: ", cudaGetErrorString(launched)));
  if (run != cudaSuccess) throw Error(concat("a kernel has failed: ", cudaGetErrorString(run)));
}

}  // namespace lockstep::exercise
