#include "emulated_nccl/failure.hpp"

#include <mutex>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace lockstep::emulated_nccl {
namespace {

std::mutex text_mutex;
// Never destroyed: communicators that are left at the end of a process may still fail.
std::string& text() {
  static auto* const kept = new std::string;
  return *kept;
}

bool prints_warnings() {
  const std::string level = environment::get("NCCL_DEBUG").value_or("");
  return level == "WARN" || level == "INFO" || level == "TRACE";
}

ncclResult_t remember(ncclResult_t code, const char* call, const char* message) {
  const std::string line = concat(call, ": ", message);
  if (prints_warnings()) Logger("emulated NCCL").warning(line);
  const std::scoped_lock lock(text_mutex);
  text() = line;
  return code;
}

}  // namespace

bool succeeds(cudaError_t result) {
  if (result != cudaSuccess) cudaGetLastError();
  return result == cudaSuccess;
}

void cuda_require(cudaError_t result, const char* task) {
  nccl_require(succeeds(result), ncclUnhandledCudaError, task, ": ", cudaGetErrorString(result));
}

ncclResult_t remember_exception(const char* call) noexcept {
  try {
    try {
      throw;
    } catch (const NcclError& error) {
      return remember(error.code(), call, error.what());
    } catch (const IoError& error) {
      return remember(ncclRemoteError, call, error.what());
    } catch (const std::exception& error) {
      return remember(ncclSystemError, call, error.what());
    }
  } catch (...) {  // no memory left for the text
    return ncclSystemError;
  }
}

std::string last_error() {
  const std::scoped_lock lock(text_mutex);
  return text();
}

ncclResult_t nccl_call(const char* name, const std::function<ncclResult_t()>& body) noexcept {
  try {
    return body();
  } catch (...) {
    return remember_exception(name);
  }
}

}  // namespace lockstep::emulated_nccl
