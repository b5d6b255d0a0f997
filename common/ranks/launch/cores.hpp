#pragma once
/// @file
/// The processors that this process may use, which determine the numbers of ranks and of threads per rank.
#include <filesystem>
#include <vector>

namespace lockstep::launch {

/// Processors of this process. Two threads of one core share its arithmetic units, so a compute-bound job gains from
/// cores, but hardly from threads.
struct Cores {
  int physical = 1;  ///< Cores with at least one allowed thread, capped by the control group's quota; at least 1.
  int logical = 1;   ///< Hardware threads this process may run on, capped likewise; at least `physical`.
};

/// Reads the affinity mask, the topology in /sys and the quota of control groups (cpu_quota()). If one of them cannot
/// be read, it counts as unlimited.
[[nodiscard]] Cores usable_cores();

/// Number of cores that these processors belong to. @param system  Folder in which the kernel describes processors.
[[nodiscard]] int count_cores(const std::vector<int>& cpus,
                              const std::filesystem::path& system = "/sys/devices/system/cpu");

/// One rank's share if the ranks of a host divide the processors: equal parts, each of neighbours (threads of one core,
/// cores of one package). If ranks outnumber processors, some ranks share one.
/// @param local_rank  In [0, local_world_size).
/// @throws ContractError  local_rank is out of range.
/// @throws UnavailableError  The kernel does not list the processors.
[[nodiscard]] std::vector<int> share_of_cpus(int local_rank, int local_world_size);

}  // namespace lockstep::launch
