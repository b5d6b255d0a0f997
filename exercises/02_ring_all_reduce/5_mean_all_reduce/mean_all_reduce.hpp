#pragma once
/// @file
/// Given: the whole ring of exercise 02.5 as its callers see it, and what it may use. Neighbours, Link and exchange()
/// are those of exercise 02.1.
#include <span>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

/// Replaces `values` on every rank by the mean over all ranks, element by element.
///
/// Each chunk is summed as it goes round the ring, divided once by the number of ranks, and then only copied.
///
/// @param values  This rank's values, cut into world_size chunks (chunk_of()); the same count on all ranks. Chunks may
///                be empty.
/// @param place   This rank's neighbours. With one rank there are none, and the values stay as they are.
/// @post  Bit-identical on all ranks.
/// @cost  2 (world_size - 1) steps; each sends one chunk and receives one. Besides `values`, one chunk of memory.
void all_reduce_mean(std::span<float> values, const Neighbours& place);

}  // namespace lockstep::ring
