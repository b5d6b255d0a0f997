#pragma once
/// @file
/// NCCL's result codes as exceptions.
#include <nccl.h>

#include <string_view>

#include "base/error.hpp"

namespace lockstep::nccl {

/// ncclInProgress is no failure: a call of a non-blocking communicator, or inside a group, has only been noted.
/// @param result  What a function of NCCL returned. @param call  Its name.
/// @throws ContractError  The call has failed; with NCCL's words.
inline void nccl_check(ncclResult_t result, std::string_view call) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  throw ContractError(concat(call, ": ", ncclGetErrorString(result)));
}

}  // namespace lockstep::nccl
