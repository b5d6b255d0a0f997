#pragma once
/// @file
/// Which handles are valid, and the communicators they stand for.
#include <memory>

#include "emulated_nccl/communicator.hpp"

namespace lockstep::emulated_nccl {

/// A handle for a communicator. A handle is no pointer: one that was destroyed is told from a live one. What is left at
/// the end of the process is aborted then, so that nothing hangs.
ncclComm_t add_handle(std::shared_ptr<Communicator> communicator);

/// The communicator. @throws NcclError  ncclInvalidArgument: the handle is null, or of no live one.
std::shared_ptr<Communicator> communicator_of(ncclComm_t handle);

/// Makes the handle invalid.
void remove_handle(ncclComm_t handle) noexcept;

}  // namespace lockstep::emulated_nccl
