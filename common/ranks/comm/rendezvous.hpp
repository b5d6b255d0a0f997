#pragma once
/// @file
/// Makes a process a rank: finds the others, checks that they are compatible, and starts the control plane.
#include <optional>
#include <string>
#include <string_view>

#include "comm/job_context.hpp"

namespace lockstep::comm {

/// Values that replace those of the environment or the address.
struct RendezvousOptions {
  std::optional<int> rank;              ///< Instead of RANK.
  std::optional<int> world_size;        ///< Instead of WORLD_SIZE.
  std::optional<int> local_rank;        ///< Instead of LOCAL_RANK.
  std::optional<int> local_world_size;  ///< Instead of LOCAL_WORLD_SIZE.
  std::optional<int> generation;        ///< Instead of LOCKSTEP_GENERATION and the launchers' restart counts.
  std::optional<std::string> token;     ///< Instead of LOCKSTEP_TOKEN, unchecked (for tests; no command line's).
  std::optional<std::string> store;     ///< host:port of a running store, instead of LOCKSTEP_STORE.
  std::optional<JobLimits> limits;      ///< Instead of limits_from_environment().
};

/// Joins the job and returns once all ranks have.
///
/// `env://` reads RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT as torchrun sets them, and
/// LOCKSTEP_TOKEN or LOCKSTEP_TOKEN_FILE, LOCKSTEP_GENERATION, LOCKSTEP_FLIGHT_DIR, LOCKSTEP_STORE, LOCKSTEP_PORT,
/// LOCKSTEP_INTERFACE, LOCKSTEP_BIND_ADDRESS.
/// Without RANK it reads the variables of Open MPI, PMI or Slurm instead (comm/joining/job_environment.hpp has the
/// names and their order). Without LOCKSTEP_GENERATION it counts as torchrun does (TORCHELASTIC_RESTART_COUNT), else as
/// Slurm does (SLURM_RESTART_COUNT). `tcp://host:port` and `file:///path` take rank and world size from the options,
/// else from `?rank=1&world_size=4`, else from the environment.
///
/// The store: LOCKSTEP_STORE names a running one (the launcher's). Otherwise rank 0 serves it at MASTER_ADDR on
/// LOCKSTEP_PORT, or MASTER_PORT, or, if torchrun's own store uses that (TORCHELASTIC_RUN_ID is set), the port after
/// it. With `file://` it is the file, which must be reachable by all ranks, is private to this user, holds the job's
/// token if none is given, and is removed by the last rank; leftovers of a crashed run are ignored. World size 1 needs
/// no network.
///
/// Addresses: a MASTER_ADDR that is a name is looked up until it resolves. Rank 0 listens there as
/// net::listening_address() says: the host's own name may be loopback on that host (Debian's 127.0.1.1). Ranks listen,
/// for each other, on LOCKSTEP_BIND_ADDRESS or the interface LOCKSTEP_INTERFACE (net::given_bind_address()). By default
/// it is the address from which they reached the store; if that is loopback, the one by which ranks of other hosts
/// reached the store's host. With `file://` the default is 127.0.0.1.
///
/// A process may join again after it has destroyed everything from the first time (with LOCKSTEP_STORE or `file://`,
/// also before). All ranks must; they meet under new keys, so that the two jobs cannot be confused.
///
/// The limit of open files is raised if the job's connections need it.
///
/// @throws FormatError   A variable or the address is missing or malformed, a rank is out of range, MASTER_ADDR is not
///                       rank 0's host, or there is no such interface; names it.
/// @throws Error         Rank 0's limit of open files is below the number of connections.
/// @throws MismatchError  Two processes have the same rank, or world sizes differ; names them.
/// @throws TimeoutError  Not all came within limits.join: "present: 0, 2; missing: 1, 3".
/// @throws IoError       Rank 0 cannot listen on the port.
[[nodiscard]] JobContext rendezvous(const std::string& init_method = "env://", const RendezvousOptions& options = {});

/// The defaults, changed by LOCKSTEP_JOIN_SECONDS, LOCKSTEP_LIVENESS_SECONDS, LOCKSTEP_PROGRESS_REPORT_SECONDS and
/// LOCKSTEP_PROGRESS_SECONDS (fractions allowed). LOCKSTEP_DEBUGGER=1 switches liveness and progress off.
/// @throws FormatError  A value is not a positive number.
[[nodiscard]] JobLimits limits_from_environment();

/// At rank 0 of a job that other hosts can reach: warns once that a backend's own connections are not authenticated.
/// @param backend  "gloo".
void warn_unauthenticated(const JobContext& context, std::string_view backend);

}  // namespace lockstep::comm
