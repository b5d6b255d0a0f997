#pragma once
/// @file
/// A process group with the collectives of Gloo, the library behind torch.distributed's "gloo" backend.
#include <memory>

#include "comm/process_group.hpp"

namespace lockstep::gloo_backend {

/// A group whose collectives are Gloo's own algorithms over Gloo's TCP connections, one per pair of ranks. The
/// connections are made at once, from this rank's bind address; ranks find each other in the job's store. Sends and
/// recvs use comm::TcpTransport. Device memory is staged in host memory, as in every host backend.
///
/// comm::reduce_into reduces elements, so dtypes, operations and NaN behave as in star and ring. Every message carries
/// a hash of its collective: ranks that call different ones do not mix their data, but wait for each other until the
/// control plane reports the mismatch (MismatchError).
///
/// Unlike star and ring, this backend does not promise equal bits in another version of Gloo. No token or checksum
/// protects Gloo's connections, so anyone who can reach the bind address can disturb them: use loopback or a private
/// network. traffic_sent() counts sends and recvs only, as Gloo does not report its own traffic.
///
/// @param context  From rendezvous(). World size 1 needs no network.
/// @throws ContractError    The bind address stands for all interfaces: Gloo passes it on to the peers.
/// @throws TimeoutError     Not all ranks are connected within context.limits.join.
/// @throws PeerFailedError  A rank died or gave up meanwhile; names it.
/// @throws IoError          Gloo cannot listen or connect.
/// @cost  all_reduce and reduce: Gloo's ring, 2(P-1)/P of the buffer sent per rank; reduce_scatter is an all_reduce of
///         a copy of the input, since Gloo has none for every dtype.
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> make_gloo_process_group(comm::JobContext context);

}  // namespace lockstep::gloo_backend
