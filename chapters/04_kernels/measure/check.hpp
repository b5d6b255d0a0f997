#pragma once
/// @file
/// CUDA's status codes as exceptions.
#include <cuda_runtime.h>

#include <string_view>

#include "base/error.hpp"

namespace lockstep::ladders {

/// @param status  What a function of CUDA's runtime returned.
/// @param doing   What was being done, for the message.
/// @throws Error  The call failed, or a kernel that was launched before it.
inline void cuda_check(cudaError_t status, std::string_view doing) {
  if (status == cudaSuccess) return;
  throw Error(concat(doing, ": ", cudaGetErrorString(status), " (", cudaGetErrorName(status), ")"));
}

/// @throws UnavailableError  There is no device to compute on: no GPU, or no driver for it.
inline void require_device() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return;
  throw UnavailableError(concat("there is no CUDA device here (", cudaGetErrorString(status),
                                "); the preset cpu emulates one: cmake --preset cpu"));
}

}  // namespace lockstep::ladders
