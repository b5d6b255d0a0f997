#pragma once
/// @file
/// The content of an ncclUniqueId: the meeting point of a communicator's ranks and the secret that admits them.
#include <string>

#include "emulated_nccl/include/nccl.h"
#include "net/address.hpp"

namespace lockstep::emulated_nccl {

/// The meeting point of a communicator's ranks: a part of one process's store.
struct MeetingPoint {
  net::SocketAddress store;  ///< Served by the process that made the id.
  std::string token;         ///< For that store and the ranks' connections.
  std::string prefix;        ///< Of its keys; unique to the communicator.
};

/// A new id. The first call starts this process's store, which serves all its ids until stop_serving().
ncclUniqueId make_unique_id();

/// The content of `id`. @throws NcclError  It was not made by this library.
MeetingPoint read_unique_id(const ncclUniqueId& id);

/// Ends the store, if there is one. Called at the end of the process.
void stop_serving() noexcept;

}  // namespace lockstep::emulated_nccl
