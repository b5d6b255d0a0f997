#pragma once
/// @file
/// Connections between the ranks of a group: who listens where is published in the store, and every connection
/// proves the job's token, its rank and its group.
#include <map>
#include <span>
#include <string_view>

#include "base/deadline.hpp"
#include "comm/job_context.hpp"
#include "net/tcp_socket.hpp"

namespace lockstep::comm {

/// Sockets by the rank at the other end.
struct PeerConnections {
  std::map<int, net::TcpSocket> outgoing;  ///< To the ranks this rank connected to.
  std::map<int, net::TcpSocket> incoming;  ///< From the ranks that connected to this one.
};

/// Makes the connections of one group. All ranks call it with the same `group` and matching lists (if rank a connects
/// to b, then b accepts from a); a star connects [0] and accepts the others, a ring connects its right and accepts
/// its left neighbour.
///
/// @param group        Name of the group, unique in the job and generation: concat("ring/", group_id()).
/// @param connect_to   Ranks to connect to; not this rank.
/// @param accept_from  Ranks that connect here; not this rank.
/// @param deadline     For all of it.
/// @throws TimeoutError     Names the ranks that are not connected by `deadline`.
/// @throws PeerFailedError  A rank died or gave up meanwhile; names it.
[[nodiscard]] PeerConnections connect_peers(const JobContext& context, std::string_view group,
                                            std::span<const int> connect_to, std::span<const int> accept_from,
                                            const Deadline& deadline);

}  // namespace lockstep::comm
