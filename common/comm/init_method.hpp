#pragma once
// What a process knows about its place in the job before it has talked to anybody; not for others.
#include <optional>
#include <string>

#include "comm/rendezvous.hpp"
#include "net/address.hpp"

namespace lockstep::comm {

struct Membership {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  int generation = 0;
  std::optional<net::SocketAddress> running_store;  // one that runs already: the launcher's
  net::SocketAddress store;                         // where rank 0 serves it otherwise
};

// Reads `init_method`, the options and the environment. Throws FormatError naming what is missing or wrong.
[[nodiscard]] Membership read_membership(const std::string& init_method, const RendezvousOptions& options);

}  // namespace lockstep::comm
