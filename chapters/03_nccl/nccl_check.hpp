#pragma once
/// @file
/// NCCL's result codes as exceptions.
#include <nccl.h>

#include <source_location>
#include <string_view>

#include "base/error.hpp"

namespace lockstep::nccl {

/// Throws if an NCCL call failed. ncclInProgress is not a failure: a call on a non-blocking communicator, or inside a
/// group, runs later.
/// @param result  Returned by an NCCL function. @param call  Its name.
/// @throws ContractError  The call has failed; the message has NCCL's text.
inline void nccl_check(ncclResult_t result, std::string_view call) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  throw ContractError(concat(call, ": ", ncclGetErrorString(result)));
}

/// The same, for a caller that does not name the call: the message gives its source location instead.
/// @param result  Returned by an NCCL function. @param where  Of the call.
/// @throws ContractError  The call has failed; the message has NCCL's text.
inline void nccl_check(ncclResult_t result, const std::source_location& where = std::source_location::current()) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const std::string_view path = where.file_name();
  nccl_check(result, concat("the NCCL call at ", path.substr(path.rfind('/') + 1), ":", where.line()));
}

}  // namespace lockstep::nccl
