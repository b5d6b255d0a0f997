#pragma once
/// @file
/// CUDA's status codes as exceptions. Only for sources that call the CUDA runtime, real or emulated.
#include <cuda_runtime_api.h>

#include <string_view>

#include "base/error.hpp"

namespace lockstep {

/// A call of the CUDA runtime, or a kernel launched before it, failed.
class CudaError : public Error {
 public:
  /// @param message  The operation, its source line, and CUDA's error text.
  /// @param status   CUDA's status code.
  CudaError(const std::string& message, cudaError_t status) : Error(message), status_(status) {}

  [[nodiscard]] cudaError_t status() const noexcept { return status_; }

 private:
  cudaError_t status_;
};

/// @throws CudaError  `status` is an error. The message names the calling line, and says if an earlier kernel caused
///                    it.
/// @param status  Returned by a function of the CUDA runtime.
/// @param doing   The operation, for the message, such as "copying 12 bytes to cuda:0".
/// @param file    The caller's source file.
/// @param line    The caller's line.
void cuda_check(cudaError_t status, std::string_view doing = {}, const char* file = __builtin_FILE(),
                int line = __builtin_LINE());

/// For destructors, which cannot throw: logs a failure, unless the cause is that the process is ending.
/// @param status  Returned by a function of the CUDA runtime.
/// @param doing   The operation, for the message.
void cuda_log(cudaError_t status, std::string_view doing) noexcept;

}  // namespace lockstep
