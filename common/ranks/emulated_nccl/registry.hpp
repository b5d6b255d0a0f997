#pragma once
/// @file
/// Valid handles and their communicators.
#include <memory>

#include "emulated_nccl/communicator.hpp"

namespace lockstep::emulated_nccl {

/// A handle for a communicator. It is not a pointer, so destroyed handles are recognised. Communicators that are left
/// at the end of the process are aborted, so that nothing hangs.
ncclComm_t add_handle(std::shared_ptr<Communicator> communicator);

/// @throws NcclError  ncclInvalidArgument: the handle is null or not valid.
std::shared_ptr<Communicator> communicator_of(ncclComm_t handle);

void remove_handle(ncclComm_t handle) noexcept;

}  // namespace lockstep::emulated_nccl
