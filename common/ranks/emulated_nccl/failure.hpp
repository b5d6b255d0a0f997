#pragma once
/// @file
/// How a call of the library fails: an exception inside, a code and a text outside.
#include <functional>
#include <stdexcept>
#include <string>

#include "base/text.hpp"
#include "emulated_nccl/include/nccl.h"

namespace lockstep::emulated_nccl {

/// Leaves a call of the library as `code`.
class NcclError : public std::runtime_error {
 public:
  /// @param code     What the caller sees.
  /// @param message  What ncclGetLastError() says.
  NcclError(ncclResult_t code, const std::string& message) : std::runtime_error(message), code_(code) {}

  /// What the caller sees.
  [[nodiscard]] ncclResult_t code() const noexcept { return code_; }

 private:
  ncclResult_t code_;
};

/// Throws NcclError with the parts joined to one message unless `condition` holds.
template <typename... Parts>
void nccl_require(bool condition, ncclResult_t code, const Parts&... message_parts) {
  if (!condition) throw NcclError(code, concat(message_parts...));
}

/// Throws NcclError unless a call of CUDA succeeded. @param task  What was being done.
void cuda_require(cudaError_t result, const char* task);

/// The code for the exception that is being handled; its text becomes last_error().
/// @param call  Whose, for the text.
ncclResult_t remember_exception(const char* call) noexcept;

/// The text of the last failure in this process; empty: none.
std::string last_error();

/// Runs the body of the API function `name`: what it throws becomes its code.
ncclResult_t nccl_call(const char* name, const std::function<ncclResult_t()>& body) noexcept;

}  // namespace lockstep::emulated_nccl
