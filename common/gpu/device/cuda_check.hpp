#pragma once
/// @file
/// CUDA's status codes as exceptions. Only for sources that call CUDA's runtime, real or emulated.
#include <cuda_runtime_api.h>

#include <string_view>

#include "base/error.hpp"

namespace lockstep {

/// A call of CUDA's runtime failed, or a kernel that was launched before it.
class CudaError : public Error {
 public:
  /// @param message  What was being done, where, and CUDA's words.
  /// @param status   As CUDA returned it.
  CudaError(const std::string& message, cudaError_t status) : Error(message), status_(status) {}

  /// As CUDA returned it.
  [[nodiscard]] cudaError_t status() const noexcept { return status_; }

 private:
  cudaError_t status_;
};

/// @throws CudaError  `status` says that the call failed. Also names the place of the call, and tells apart what the
/// call
///                    did wrong from what an earlier kernel left behind.
/// @param status  What a function of CUDA's runtime returned.
/// @param doing   What was being done, for the message, such as "copying 12 bytes to cuda:0".
/// @param file    Of the call.
/// @param line    Of the call.
void cuda_check(cudaError_t status, std::string_view doing = {}, const char* file = __builtin_FILE(),
                int line = __builtin_LINE());

/// For destructors, which cannot throw: logs a failure. What the end of the process brings is no failure.
/// @param status  What a function of CUDA's runtime returned.
/// @param doing   What was being done.
void cuda_log(cudaError_t status, std::string_view doing) noexcept;

}  // namespace lockstep
