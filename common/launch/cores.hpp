#pragma once
/// @file
/// How many processors this process may use: what sets the number of ranks and of threads per rank.

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

}  // namespace lockstep::launch
