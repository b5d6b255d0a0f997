#pragma once
/// @file
/// In which order a ring should pass the GPUs of a machine: the slowest of its links sets the pace of all.
#include <vector>

#include "00_why_many_gpus/topology/matrix.hpp"

namespace lockstep::plan {

/// A closed way through all GPUs.
struct RingOrder {
  std::vector<int> gpus;  ///< Each once; the last one's neighbour is the first.
  bool is_exact = true;   ///< No other order is better; false where it was only searched for.
  int weakest = 0;        ///< Strength of the weakest path of the ring: it sets the pace of all.
  int sum = 0;            ///< Sum of the strengths.
};

/// Judges a given order. @pre  At least two GPUs, each once.
[[nodiscard]] RingOrder ring_along(const Topology& topology, std::vector<int> gpus);

/// The order whose weakest path is strongest, and among those the one with the greatest sum. Up to 9 GPUs all orders
/// are tried (of equals the first in the order of numbers); above that each GPU begins a ring that always goes on to
/// the nearest one left, and the best of those is taken.
/// @throws ContractError  Fewer than two GPUs.
[[nodiscard]] RingOrder propose_ring(const Topology& topology);

}  // namespace lockstep::plan
