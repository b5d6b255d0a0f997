#pragma once
/// @file
/// One thread's requests between ncclGroupStart() and ncclGroupEnd().
#include <functional>
#include <memory>

#include "emulated_nccl/communicator.hpp"

namespace lockstep::emulated_nccl {

void start_group();        ///< May be nested.
ncclResult_t end_group();  ///< The outermost one performs all requests. @throws NcclError
/// A call inside the thread's group has failed: end_group() throws `code`. Does nothing outside a group.
void fail_group(ncclResult_t code) noexcept;

/// Enqueues an operation: now, or at the end of the thread's group.
/// @throws NcclError  It is not valid; then no operation of its group is enqueued.
ncclResult_t submit(ncclComm_t communicator, const Operation& operation);

/// Makes a communicator that is about to join others: now, or at the end of the thread's group.
/// @param call    For messages.
/// @param owner   Runs it on its thread if non-blocking: the communicator itself, or the one to split.
/// @param joining Ends in communicator->join().
/// @param handle  Receives the handle; null if it was blocking and failed.
ncclResult_t submit_joining(const char* call, const std::shared_ptr<Communicator>& owner,
                            const std::shared_ptr<Communicator>& communicator, std::function<void()> joining,
                            ncclComm_t* handle);

}  // namespace lockstep::emulated_nccl
