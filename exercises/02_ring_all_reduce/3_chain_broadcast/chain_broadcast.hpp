#pragma once
/// @file
/// Given: the broadcast of exercise 02.3 as its callers see it, and what it may use. Neighbours, Link and exchange()
/// are those of exercise 02.1.
#include <cstdint>
#include <span>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

/// Replaces `values` on every rank by those of the root. They travel round the ring as a chain, from the root to the
/// rank before it, one segment after the other: a rank passes a segment on before it waits for the next one.
///
/// @param values         The same count on all ranks, may be empty; only the root's are read.
/// @param root           The rank that has the values; the same on all ranks, in [0, world_size).
/// @param segment_count  Elements of a segment, at least 1; the same on all ranks. The last segment holds what is left.
/// @param place          This rank's neighbours. With one rank there are none, and there is nothing to do.
/// @cost  chain_steps() messages one after the other. Every rank but the last of the chain sends `values` once, one
///        message a segment.
void broadcast(std::span<float> values, int root, std::int64_t segment_count, const Neighbours& place);

/// How many times as long as one segment's message the broadcast takes, if all links work at the same time and each
/// rank can receive a segment while it sends the one before it.
///
/// @param count  Of the values; with none there are no messages. @param segment_count, world_size  As above.
[[nodiscard]] std::int64_t chain_steps(std::int64_t count, std::int64_t segment_count, int world_size);

}  // namespace lockstep::ring
