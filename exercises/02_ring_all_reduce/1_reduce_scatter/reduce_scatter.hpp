#pragma once
/// @file
/// Given: what the reduce-scatter of exercise 02.1 looks like from outside, and what it may use.
#include <span>

#include "02_ring_all_reduce/ring_schedule.hpp"
#include "exercise/link.hpp"
#include "exercise/todo.hpp"

namespace lockstep::ring {

using exercise::exchange;
using exercise::Link;

/// One rank's place in the circle.
struct Neighbours {
  int rank;        ///< This rank.
  int world_size;  ///< How many there are.
  Link& next;      ///< To rank + 1, which this rank sends to.
  Link& previous;  ///< From rank - 1, which this rank receives from.
};

/// The first half of a ring all-reduce. Afterwards one chunk of `values` holds the sum over all ranks: the chunk
/// finished_chunk_of(rank, world_size). The other chunks may hold anything.
///
/// @param values  This rank's values, cut into world_size chunks (chunk_of()); the same count on all ranks. Chunks may
///                be empty.
/// @param place   This rank's neighbours. With one rank there are none: nothing is to be done.
/// @cost  world_size - 1 steps; each sends one chunk and receives one.
void reduce_scatter(std::span<float> values, const Neighbours& place);

}  // namespace lockstep::ring
