#pragma once
/// @file
/// Reads this process's rank and job from the variables of any supported launcher.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace lockstep::comm {

/// The value of a variable; nullopt if it is unset or empty.
using VariableLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// The whole number in a variable.
/// @param name  Empty: no variable.
/// @return      Nullopt if it is unset or empty.
/// @throws FormatError  Not a whole number in [minimum, maximum]; names the variable.
[[nodiscard]] std::optional<int> read_int(const VariableLookup& lookup, const std::string& name, std::int64_t minimum,
                                          std::int64_t maximum);

/// A process's place as set by a launcher; fields that the launcher does not set are empty.
struct EnvironmentPlace {
  std::string launcher;  ///< "Open MPI", for messages; empty if no launcher's variables are set.
  std::optional<int> rank;
  std::optional<int> world_size;
  std::optional<int> local_rank;        ///< Among the ranks of this host.
  std::optional<int> local_world_size;  ///< Ranks on this host.
  std::optional<std::string> host;      ///< Rank 0's host, if known.
  std::optional<int> port;              ///< Derived from the job's number, if it has one.
};

/// Reads the first of these sets whose rank variable is set:
///
/// 1. RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE (torchrun, `lockstep launch`, or by hand);
/// 2. OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE (Open MPI's mpirun);
/// 3. PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS (MPICH, Intel MPI);
/// 4. SLURM_PROCID, SLURM_STEP_NUM_TASKS (else SLURM_NTASKS), SLURM_LOCALID, SLURM_STEP_TASKS_PER_NODE (srun).
///    They count only in a step started by srun: a batch script or an interactive shell has no other tasks.
///
/// mpirun comes before Slurm because it may run inside a Slurm job, whose variables all processes inherit. The last
/// three get as host 127.0.0.1 if all ranks are on this host, else the first of Slurm's list of nodes; and a port
/// derived from the job's number.
/// @throws FormatError  A variable is malformed or its partner is missing, a local rank is out of range, or RANK and
///                      WORLD_SIZE contradict mpirun's; names the variables. (Under torchrun and `lockstep launch`,
///                      which may themselves be started by mpirun, they differ for good reason.)
[[nodiscard]] EnvironmentPlace read_place(const VariableLookup& lookup);

/// Whether a launcher has started this process as one of several ranks. Slurm's variables count only in a step of
/// several tasks started by srun: a shell inside a job has them too.
/// @throws FormatError  SLURM_STEP_ID is not a number.
[[nodiscard]] bool is_started_as_rank();

/// The first host of Slurm's compressed list: "node[07-09,12],other" -> "node07".
/// @throws FormatError  A bracket is not closed, or a name is empty.
[[nodiscard]] std::string first_host_of(const std::string& node_list);

/// Tasks of node number `node` in Slurm's compressed list: "2(x3),1" is 2, 2, 2, 1.
/// @throws FormatError  The text is not such a list, or has fewer nodes.
[[nodiscard]] int tasks_of_node(const std::string& tasks_per_node, int node);

}  // namespace lockstep::comm
