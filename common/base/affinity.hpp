#pragma once
/// @file
/// The processors on which the threads of this process may run.
#include <span>
#include <vector>

namespace lockstep {

/// The processors that the calling thread may use, ascending; empty if the kernel does not say.
[[nodiscard]] std::vector<int> allowed_cpus();

/// Restricts all threads of this process to `cpus`. Threads and processes that they start inherit it.
/// @throws ContractError  `cpus` is empty, or a number is out of range for the kernel's set (CPU_SETSIZE).
/// @throws IoError        The kernel refuses: none of them exists or is allowed.
void restrict_to_cpus(std::span<const int> cpus);

}  // namespace lockstep
