#pragma once
/// @file
/// Which processors this process may use: what sets the number of ranks and of threads per rank.
#include <filesystem>
#include <vector>

namespace lockstep::launch {

/// Processors of this process. Two threads of one core share its arithmetic units, so a compute-bound job gains
/// from cores, hardly from threads.
struct Cores {
  int physical = 1;  ///< Cores with at least one allowed thread, capped by the control group's quota; at least 1.
  int logical = 1;   ///< Hardware threads this process may run on, capped likewise; at least `physical`.
};

/// Reads the affinity mask, the topology in /sys and the quota of control groups (containers). Where one of them
/// cannot be read, it counts as unlimited.
[[nodiscard]] Cores usable_cores();

/// How many cores these processors are threads of. @param system  Where the kernel describes processors.
[[nodiscard]] int count_cores(const std::vector<int>& cpus,
                              const std::filesystem::path& system = "/sys/devices/system/cpu");

/// Those processors that fall to one rank where the ranks of a host divide them: equal parts, each of neighbours
/// (threads of one core, cores of one package). Where ranks outnumber processors, some ranks share one.
/// @param local_rank  In [0, local_world_size).
/// @throws ContractError  local_rank is out of range.
/// @throws UnavailableError  The kernel does not tell which processors there are.
[[nodiscard]] std::vector<int> share_of_cpus(int local_rank, int local_world_size);

}  // namespace lockstep::launch
