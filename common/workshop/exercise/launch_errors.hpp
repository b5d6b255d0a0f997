#pragma once
/// @file
/// What CUDA says of a learner's launches. Unlike cuda_check() it names no line: that would be one of ours.
#include <cuda_runtime_api.h>

#include "base/error.hpp"

namespace lockstep::exercise {

/// @param launched  Of cudaGetLastError() after the launches. @param run  Of cudaDeviceSynchronize() after that.
/// @throws Error  One of them is no success.
inline void require_success(cudaError_t launched, cudaError_t run) {
  if (launched != cudaSuccess) throw Error(concat("CUDA refuses a launch: ", cudaGetErrorString(launched)));
  if (run != cudaSuccess) throw Error(concat("a kernel has failed: ", cudaGetErrorString(run)));
}

}  // namespace lockstep::exercise
