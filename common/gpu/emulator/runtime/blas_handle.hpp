#pragma once
/// @file
/// The target of a cuBLAS handle.
#include <functional>

#include "emulator/cuda/cublas_v2.h"
#include "emulator/runtime/blas_call.hpp"

/// The target of a program's cublasHandle_t: its stream and modes.
struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
};

namespace lockstep::emulator {

/// blas_call() for functions that take a handle, which must not be null.
inline cublasStatus_t with_handle(const char* name, cublasHandle_t handle,
                                  const std::function<cublasStatus_t()>& body) {
  return handle == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : blas_call(name, body);
}

}  // namespace lockstep::emulator
