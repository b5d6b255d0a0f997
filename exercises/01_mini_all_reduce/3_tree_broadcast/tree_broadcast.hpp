#pragma once
/// @file
/// Given: the broadcast of exercise 01.3 as its callers see it, and what it may use. Place and Link are those of
/// exercise 01.2.
#include <span>

#include "01_mini_all_reduce/2_star_all_reduce/star_all_reduce.hpp"

namespace lockstep::tree {

using star::Link;
using star::Place;

/// Replaces `values` on every rank by those of the root, along a binomial tree: in each round every rank that has the
/// values already sends them to one that does not have them yet.
///
/// @param values  The same count on all ranks, may be empty; only the root's are read.
/// @param root    The rank that has the values; the same on all ranks, in [0, world_size).
/// @param place   Where this rank is. Call place.link(peer) right before you send or receive: the judge sees the order
///                of these calls, and counts the rounds. With one rank there is nothing to do.
/// @cost  ceil(log2 world_size) rounds. Every rank but the root receives `values` once, so world_size - 1 messages in
///        all; the root sends the most of them, one in each round.
/// @source Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", 2005,
///         section 4.2.
void broadcast(std::span<float> values, int root, const Place& place);

}  // namespace lockstep::tree
