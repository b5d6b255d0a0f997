#pragma once
/// @file
/// The collectives of Gloo, the library below torch.distributed's "gloo" backend, as a process group.
#include <memory>

#include "comm/process_group.hpp"

namespace lockstep::gloo_backend {

/// A group whose collectives are Gloo's own algorithms over Gloo's TCP connections, one per pair of ranks. They start
/// at once, at this rank's bind address, and find each other in the job's store. Sends and recvs travel through
/// comm::TcpTransport. Device memory is staged in host memory, as in every host backend.
///
/// Elements are reduced by comm::reduce_into, so dtypes, operations and NaN are what they are in star and ring. A
/// message carries a hash of the collective it belongs to: ranks that call different things do not mix their data, but
/// wait for each other until the control plane tells them so (MismatchError).
///
/// Not promised here, unlike in star and ring: that results have the same bits in another version of Gloo; and no token
/// or checksum protects Gloo's connections, so whoever reaches the bind address can disturb them. Keep it loopback or a
/// network of your own. traffic_sent() counts sends and recvs only: Gloo does not tell what it sends.
///
/// @param context  Of rendezvous(). World size 1 needs no network.
/// @throws ContractError    The bind address is that of all interfaces: Gloo tells it to the peers.
/// @throws TimeoutError     Not all ranks are connected within context.limits.join.
/// @throws PeerFailedError  A rank died or gave up meanwhile; names it.
/// @throws IoError          Gloo cannot listen or connect.
/// @cost   all_reduce and reduce: Gloo's ring, 2(P-1)/P of the buffer sent per rank; reduce_scatter is an all_reduce of
///         a copy of the input, since Gloo has none for every dtype.
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> make_gloo_process_group(comm::JobContext context);

}  // namespace lockstep::gloo_backend
