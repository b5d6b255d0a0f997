#pragma once
/// @file
/// Failures of the library's calls: exceptions inside, a code and a text outside.
#include <functional>
#include <stdexcept>
#include <string>

#include "base/text.hpp"
#include "emulated_nccl/include/nccl.h"

namespace lockstep::emulated_nccl {

/// Returned from a call of the library as `code`.
class NcclError : public std::runtime_error {
 public:
  /// @param code     The caller's result.
  /// @param message  Text for ncclGetLastError().
  NcclError(ncclResult_t code, const std::string& message) : std::runtime_error(message), code_(code) {}

  /// The result for the caller.
  [[nodiscard]] ncclResult_t code() const noexcept { return code_; }

 private:
  ncclResult_t code_;
};

/// Throws NcclError, with the parts joined to one message, unless `condition` holds.
template <typename... Parts>
void nccl_require(bool condition, ncclResult_t code, const Parts&... message_parts) {
  if (!condition) throw NcclError(code, concat(message_parts...));
}

/// Whether a CUDA call succeeded. If not, it is forgotten: the program must not take it for its own next error.
bool succeeds(cudaError_t result);

/// Throws NcclError unless a CUDA call succeeded. @param task  For the message.
void cuda_require(cudaError_t result, const char* task);

/// The code for the current exception; its text becomes last_error().
/// @param call  The failing call, for the text.
ncclResult_t remember_exception(const char* call) noexcept;

/// The text of the last failure in this process; empty if none.
std::string last_error();

/// Runs the body of the API function `name` and converts its exception to a code.
ncclResult_t nccl_call(const char* name, const std::function<ncclResult_t()>& body) noexcept;

}  // namespace lockstep::emulated_nccl
