#pragma once
/// @file
/// What an ncclUniqueId holds: where the ranks of a communicator meet, and the secret that lets them in.
#include <string>

#include "emulated_nccl/include/nccl.h"
#include "net/address.hpp"

namespace lockstep::emulated_nccl {

/// Where the ranks of a communicator meet: a part of the store of one process.
struct MeetingPoint {
  net::SocketAddress store;  ///< Served by the process that made the id.
  std::string token;         ///< Of that store, and of the ranks' connections.
  std::string prefix;        ///< Of its keys: no two communicators have the same.
};

/// A new id. The first starts this process's store, which serves all its ids until stop_serving().
ncclUniqueId make_unique_id();

/// What `id` holds. @throws NcclError  It is none of this library's.
MeetingPoint read_unique_id(const ncclUniqueId& id);

/// Ends the store, if there is one: at the end of the process.
void stop_serving() noexcept;

}  // namespace lockstep::emulated_nccl
