#pragma once
/// @file
/// A process group with the collectives of MPI, for processes started by mpirun (or srun).
#include <limits>
#include <memory>

#include "comm/process_group.hpp"

namespace lockstep::mpi_backend {

/// Options for testing; the defaults are right.
struct MpiOptions {
  /// MPI counts elements in an int: longer buffers are reduced and broadcast in parts of this many elements. At least
  /// 1; equal on all ranks. The other collectives refuse more per rank.
  int most_elements = std::numeric_limits<int>::max();
};

/// A group whose collectives are MPI's non-blocking ones, over a separate communicator. Sends and recvs use
/// comm::TcpTransport. Device memory is staged in host memory, as in every host backend. comm::reduce_into reduces
/// elements, so dtypes, operations and NaN behave as in star and ring.
///
/// The first group of more than one rank initializes MPI; every process started by mpirun must make one. A program may
/// instead initialize MPI itself, with at least MPI_THREAD_SERIALIZED: calls of all groups of a process are serialized.
/// Waiting polls, so that a deadline or a failure elsewhere ends it. After a collective has failed halfway, its
/// messages may still be in transit in MPI. Then every group of the process fails, and the process ends without
/// MPI_Finalize, which could wait for dead ranks.
///
/// Unlike star and ring, this backend does not promise equal bits on all ranks and in all runs, nor that the other
/// ranks survive a rank's death: mpirun ends all processes when one fails (unless told --enable-recovery), and MPI may
/// end a process whose connection breaks. No token or checksum protects MPI's connections. traffic_sent() counts sends
/// and recvs only.
///
/// @param context  From rendezvous(). World size 1 needs neither network nor MPI.
/// @throws UnavailableError  MPI cannot reach the other ranks, because mpirun did not start them; says how to do so.
/// @throws TimeoutError      Some rank did not make its group within context.limits.join.
/// @throws PeerFailedError   A rank died or gave up meanwhile; names it.
/// @throws IoError           MPI reports an error.
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> make_mpi_process_group(comm::JobContext context,
                                                                         const MpiOptions& options = {});

}  // namespace lockstep::mpi_backend
