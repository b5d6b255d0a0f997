#pragma once
/// @file
/// Enqueues operations on streams.
#include <memory>
#include <span>

#include "emulated_nccl/communicator.hpp"

namespace lockstep::emulated_nccl {

/// @throws NcclError  ncclInvalidArgument: type, reduction, rank, memory or stream does not fit the communicator.
///         ncclInvalidUsage: the stream is captured.
void require_valid(const Communicator& communicator, const Operation& operation);

/// Enqueues a group of operations on their streams: copies to pinned memory, the exchange between the ranks as a host
/// function, copies back. All its streams wait for one another before and after the exchange, as in NCCL.
/// @throws NcclError  ncclUnhandledCudaError.
void enqueue(const std::shared_ptr<Communicator>& communicator, std::span<const Operation> operations);

}  // namespace lockstep::emulated_nccl
