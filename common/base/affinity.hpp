#pragma once
/// @file
/// On which processors the threads of this process may run.
#include <span>
#include <vector>

namespace lockstep {

/// The numbers of the processors that the calling thread may use, ascending; empty where the kernel does not tell.
[[nodiscard]] std::vector<int> allowed_cpus();

/// From now on every thread of this process runs on `cpus` only. Threads and processes that it starts inherit that.
/// @throws ContractError  `cpus` is empty.
/// @throws IoError        The kernel refuses: none of them exists or is allowed.
void restrict_to_cpus(std::span<const int> cpus);

}  // namespace lockstep
