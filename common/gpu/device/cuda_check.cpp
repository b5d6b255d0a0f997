#include "device/cuda_check.hpp"

#include <algorithm>
#include <array>

#include "base/log.hpp"

namespace lockstep {

namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Errors of kernels that poison the process: every later call returns them.
bool is_sticky(cudaError_t status) {
  constexpr std::array kSticky = {cudaErrorIllegalAddress,     cudaErrorLaunchTimeout,       cudaErrorAssert,
                                  cudaErrorHardwareStackError, cudaErrorIllegalInstruction,  cudaErrorMisalignedAddress,
                                  cudaErrorInvalidPc,          cudaErrorInvalidAddressSpace, cudaErrorLaunchFailure};
  return std::ranges::find(kSticky, status) != kSticky.end();
}

}  // namespace

void cuda_check(cudaError_t status, std::string_view doing, const char* file, int line) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clear the error, unless sticky, so that it is not reported twice
  const std::string_view advice =
      is_sticky(status)
          ? "; an earlier kernel did it: LOCKSTEP_EMULATOR_CHECK=1 (preset cpu) or compute-sanitizer finds it"
          : "";
  throw CudaError(concat(doing.empty() ? "a CUDA call" : doing, " failed at ", file_name(file), ":", line, ": ",
                         cudaGetErrorString(status), " (", cudaGetErrorName(status), ")", advice),
                  status);
}

void cuda_log(cudaError_t status, std::string_view doing) noexcept {
  if (status == cudaSuccess || status == cudaErrorCudartUnloading) return;
  try {
    Logger().warning(concat(doing, " failed: ", cudaGetErrorString(status)));
  } catch (...) {  // out of memory for the message: nothing can be logged
  }
}

}  // namespace lockstep
