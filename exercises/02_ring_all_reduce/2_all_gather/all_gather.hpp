#pragma once
/// @file
/// Given: the all-gather of exercise 02.2 as its callers see it, and what it may use. Neighbours, Link and exchange()
/// are those of exercise 02.1.
#include <span>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

/// The second half of a ring all-reduce. Before the call each rank has one finished chunk of `values`: the chunk
/// finished_chunk_of(rank, world_size). Afterwards all ranks have all finished chunks.
///
/// @param values  This rank's values, cut into world_size chunks (chunk_of()); the same count on all ranks. Chunks may
///                be empty. All chunks but the finished one are overwritten.
/// @param place   This rank's neighbours. With one rank there are none, and there is nothing to do.
/// @cost  world_size - 1 steps; each sends one chunk and receives one.
void all_gather(std::span<float> values, const Neighbours& place);

}  // namespace lockstep::ring
