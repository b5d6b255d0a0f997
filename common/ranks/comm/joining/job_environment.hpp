#pragma once
/// @file
/// Which rank of which job the environment says this process is, whoever started it.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace lockstep::comm {

/// The value of a variable, or nothing where it is unset or empty.
using VariableLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// The whole number that a variable holds.
/// @param name  Empty: no variable.
/// @return      Nothing where it is unset or empty.
/// @throws FormatError  It is no whole number in [minimum, maximum]; names the variable.
[[nodiscard]] std::optional<int> read_int(const VariableLookup& lookup, const std::string& name, std::int64_t minimum,
                                          std::int64_t maximum);

/// A process's place as a launcher tells it. What the launcher does not say is empty.
struct EnvironmentPlace {
  std::string launcher;                 ///< "Open MPI", for messages; empty: no launcher's variables are there.
  std::optional<int> rank;              ///< In the job.
  std::optional<int> world_size;        ///< Ranks of the job.
  std::optional<int> local_rank;        ///< Among the ranks of this host.
  std::optional<int> local_world_size;  ///< Ranks on this host.
  std::optional<std::string> host;      ///< Where rank 0 runs, where that can be told.
  std::optional<int> port;              ///< One that belongs to this job, where it has a number.
};

/// Reads the first of these that is there, by its variable of the rank:
///
/// 1. RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE (torchrun, `lockstep launch`, or by hand);
/// 2. OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE (Open MPI's mpirun);
/// 3. PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS (MPICH, Intel MPI);
/// 4. SLURM_PROCID, SLURM_STEP_NUM_TASKS (else SLURM_NTASKS), SLURM_LOCALID, SLURM_STEP_TASKS_PER_NODE (srun). They
/// count
///    only in a step that srun has started: in a batch script or an interactive shell nobody has started other tasks.
///
/// mpirun comes before Slurm because it may run inside a Slurm job, whose variables everything inherits. Host and port
/// of the last three: 127.0.0.1 where all ranks are on this host, else the first of Slurm's list of nodes; a port from
/// the job's number.
/// @throws FormatError  A variable is malformed or its partner is missing, a local rank is out of range, or RANK and
///                      WORLD_SIZE contradict mpirun's; names the variables. (Under torchrun and `lockstep launch`,
///                      which may themselves be started by mpirun, they rightly differ.)
[[nodiscard]] EnvironmentPlace read_place(const VariableLookup& lookup);

/// Whether a launcher has started this process as one of several ranks. Slurm's variables count only in a step of
/// several tasks that srun has started: a shell inside a job has them too.
/// @throws FormatError  SLURM_STEP_ID is no number.
[[nodiscard]] bool is_started_as_rank();

/// The first host of Slurm's compressed list: "node[07-09,12],other" -> "node07".
/// @throws FormatError  A bracket is not closed, or a name is empty.
[[nodiscard]] std::string first_host_of(const std::string& node_list);

/// Tasks of node number `node` in Slurm's compressed list: "2(x3),1" is 2, 2, 2, 1.
/// @throws FormatError  It is no such list, or has fewer nodes.
[[nodiscard]] int tasks_of_node(const std::string& tasks_per_node, int node);

}  // namespace lockstep::comm
