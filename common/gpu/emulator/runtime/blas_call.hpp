#pragma once
/// @file
/// What every function of the cuBLAS look-alikes does around its own work.
#include <functional>

#include "emulator/cuda/cublas_api.h"

namespace lockstep::emulator {

/// Runs `body`, the work of the function `name` on a working device, and returns its status, or the one that stands for
/// what it throws.
cublasStatus_t blas_call(const char* name, const std::function<cublasStatus_t()>& body);

/// The enumerator's name.
const char* name_of(cublasStatus_t status);

/// Whether sums of this type are what the emulator computes.
bool is_float32(cublasComputeType_t type);

}  // namespace lockstep::emulator
