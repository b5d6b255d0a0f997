#pragma once
/// @file
/// Common wrapper for every function of the cuBLAS emulation.
#include <functional>

#include "emulator/cuda/cublas_api.h"

namespace lockstep::emulator {

/// Runs `body`, the work of the function `name` on a working device, and returns its status, or one that represents its
/// exception.
cublasStatus_t blas_call(const char* name, const std::function<cublasStatus_t()>& body);

/// The enumerator's name.
const char* name_of(cublasStatus_t status);

/// True if sums of this type are float32, the only ones that the emulator computes.
bool is_float32(cublasComputeType_t type);

}  // namespace lockstep::emulator
