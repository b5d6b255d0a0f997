#pragma once
/// @file
/// The collectives of MPI as a process group, for processes that mpirun (or srun) has started.
#include <limits>
#include <memory>

#include "comm/process_group.hpp"

namespace lockstep::mpi_backend {

/// How a group calls MPI; the defaults are right.
struct MpiOptions {
  /// MPI counts elements in an int: longer buffers are reduced and broadcast in parts of so many. At least 1; equal on
  /// all ranks. The other collectives refuse more per rank.
  int most_elements = std::numeric_limits<int>::max();
};

/// A group whose collectives are MPI's non-blocking ones, over a communicator of its own. Sends and recvs travel
/// through comm::TcpTransport. Device memory is staged in host memory, as in every host backend. Elements are reduced
/// by comm::reduce_into, so dtypes, operations and NaN are what they are in star and ring.
///
/// MPI is initialized by the first group of more than one rank, which every process that mpirun has started must make,
/// unless the program has done so with at least MPI_THREAD_SERIALIZED: calls of all groups of a process come one at a
/// time. Waiting polls, so that a deadline or a failure elsewhere ends it. Once a collective has failed half way, its
/// messages may still be under way in MPI: then every group of the process fails, and the process ends without
/// MPI_Finalize, which could wait for the dead.
///
/// Not promised here, unlike in star and ring: that all ranks and all runs have the same bits; that the others survive
/// a rank's death, since mpirun ends all processes when one ends badly (unless told --enable-recovery), and MPI may end
/// a process whose connection breaks. Nor do a token or a checksum protect MPI's connections. traffic_sent() counts
/// sends and recvs only.
///
/// @param context  Of rendezvous(). World size 1 needs neither network nor MPI.
/// @throws UnavailableError  MPI does not know the other ranks: they were not started by mpirun; says how to.
/// @throws TimeoutError      Not all ranks make their group within context.limits.join.
/// @throws PeerFailedError   A rank died or gave up meanwhile; names it.
/// @throws IoError           MPI reports an error.
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> make_mpi_process_group(comm::JobContext context,
                                                                         const MpiOptions& options = {});

}  // namespace lockstep::mpi_backend
