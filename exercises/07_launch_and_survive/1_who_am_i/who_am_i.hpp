#pragma once
/// @file
/// Given: what three launchers call their variables, and what exercise 07.1 makes of them.
#include <map>
#include <optional>
#include <string>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "exercise/todo.hpp"

namespace lockstep::elastic {

/// A process's environment: values by name. Variables that are unset or empty are not in it.
using Variables = std::map<std::string, std::string>;

/// The names under which a launcher tells each process its place.
struct LauncherNames {
  const char* launcher;    ///< For messages.
  const char* rank;        ///< In the job.
  const char* world_size;  ///< Ranks of the job.
  const char* local_rank;  ///< Among the ranks of this host: which device to use.
};

/// torchrun, `lockstep launch`, or a person who sets them by hand.
inline constexpr LauncherNames kTorchrun{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"};
/// Open MPI's mpirun.
inline constexpr LauncherNames kOpenMpi{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_RANK"};
/// Slurm, which sets them for the tasks of `srun`, and also for the shell that runs a batch script.
inline constexpr LauncherNames kSlurm{"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"};

/// Set for the tasks of `srun` only.
inline constexpr const char* kSlurmStep = "SLURM_STEP_ID";
/// Set by torchrun, but not by a person who sets RANK by hand.
inline constexpr const char* kTorchrunJob = "TORCHELASTIC_RUN_ID";

/// More ranks than any job has.
inline constexpr int kMaxWorldSize = 65536;

/// A process's place in its job.
struct Place {
  std::string launcher = {};  ///< Whose variables have told it: LauncherNames::launcher; empty: nobody's.
  int rank = 0;               ///< In [0, world_size).
  int world_size = 1;         ///< At least 1.
  int local_rank = 0;         ///< At least 0.
};

/// The whole number that a variable holds, or nothing if it is not set.
/// @throws FormatError  It is no whole number in [minimum, maximum]; names the variable, its value and the range.
[[nodiscard]] inline std::optional<int> number_in(const Variables& variables, const std::string& name, int minimum,
                                                  int maximum) {
  const auto found = variables.find(name);
  if (found == variables.end()) return std::nullopt;
  return static_cast<int>(environment::parse_int(name, found->second, minimum, maximum));
}

// The two functions to be written.

/// The place that one launcher's variables tell.
///
/// @param names  Of a launcher whose variable of the rank is set.
/// @throws FormatError  One of its three variables is not set, is no number, or is out of range; or they contradict
///                      each other: a rank is less than the world size, and a local rank is not more than the rank,
///                      because the ranks of a host are numbered in the order of their ranks. The message has the
///                      name of each variable that is wrong, and its value if it has one.
[[nodiscard]] Place read_place(const Variables& variables, const LauncherNames& names);

/// The place of this process in its job.
///
/// It is what the first of torchrun, Open MPI and Slurm says that has set its variable of the rank. Slurm's variables
/// count only if kSlurmStep is set. A process that no launcher has started is alone: rank 0 of 1.
///
/// @throws FormatError  As read_place(); or no launcher has told a rank, but a world size or local rank of torchrun's
///                      or Open MPI's is set; or both torchrun's and Open MPI's variables are there and tell different
///                      ranks or world sizes, and kTorchrunJob is not set. Names the variables.
[[nodiscard]] Place find_place(const Variables& variables);

}  // namespace lockstep::elastic
