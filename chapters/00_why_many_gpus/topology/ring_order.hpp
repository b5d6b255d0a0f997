#pragma once
/// @file
/// The order in which a ring should visit the GPUs of a machine: its slowest link sets the pace of all.
#include <vector>

#include "00_why_many_gpus/topology/matrix.hpp"

namespace lockstep::plan {

/// A closed path through all GPUs.
struct RingOrder {
  std::vector<int> gpus;  ///< Each once; the last one's neighbour is the first.
  bool is_exact = true;   ///< No other order is better; false if not all orders were tried.
  int weakest = 0;        ///< Strength of the ring's weakest path, which sets the pace.
  int sum = 0;            ///< Sum of the strengths.
};

/// Evaluates a given order. @pre  At least two GPUs, each once.
[[nodiscard]] RingOrder ring_along(const Topology& topology, std::vector<int> gpus);

/// The order whose weakest path is strongest, and among those the one with the greatest sum. For up to 9 GPUs all
/// orders are tried (ties go to the first in numerical order). For more, each GPU begins a ring that always goes on to
/// the nearest remaining one, and the best of these is taken.
/// @throws ContractError  Fewer than two GPUs.
[[nodiscard]] RingOrder propose_ring(const Topology& topology);

}  // namespace lockstep::plan
