#pragma once
/// @file
/// Given: the crossover of exercise 00.3 as its callers see it. all_reduce_cost(), Algorithm and Link are the
/// chapter's.
#include <optional>

#include "00_why_many_gpus/cost_model.hpp"
#include "exercise/todo.hpp"

namespace lockstep::plan {

/// The size from which on a ring takes at most as long as another algorithm, by the times of all_reduce_cost().
///
/// @param other       What the ring is compared with: kStar, kMesh or kTree.
/// @param world_size  How many ranks; at least 1. With one rank nothing takes any time, and the result is 0.
/// @param link        Of every rank; both of its numbers are more than 0.
/// @return  Bytes of the buffer, not rounded; 0 if the ring is never slower; nothing if it always is.
[[nodiscard]] std::optional<double> ring_crossover(Algorithm other, int world_size, const Link& link);

}  // namespace lockstep::plan
