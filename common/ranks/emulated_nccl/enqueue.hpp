#pragma once
/// @file
/// Operations on their way into streams.
#include <memory>
#include <span>

#include "emulated_nccl/communicator.hpp"

namespace lockstep::emulated_nccl {

/// @throws NcclError  ncclInvalidArgument: type, reduction, rank, memory or stream do not fit the communicator.
void require_valid(const Communicator& communicator, const Operation& operation);

/// Puts a group of operations into their streams: copies to pinned memory, the exchange between the ranks as a function
/// of the host, copies back. All its streams wait for one another before and after the exchange, as NCCL's do.
/// @throws NcclError  ncclUnhandledCudaError.
void enqueue(const std::shared_ptr<Communicator>& communicator, std::span<const Operation> operations);

}  // namespace lockstep::emulated_nccl
