#pragma once
/// @file
/// Given: what the star of exercise 01.2 looks like from outside, and what it may use.
#include <functional>
#include <span>

#include "exercise/link.hpp"
#include "exercise/todo.hpp"

namespace lockstep::star {

using exercise::Link;

inline constexpr int kCentre = 0;  ///< The rank that adds.

/// One rank's place in the star.
struct Place {
  int rank;        ///< This rank, in [0, world_size).
  int world_size;  ///< How many there are.
  /// This rank's connection to another rank: place.link(3).send(values) sends to rank 3. The centre needs one to each
  /// of the others, and each of the others needs the one to the centre.
  std::function<Link&(int peer)> link;
};

/// Replaces `values` on every rank by the sum over all ranks, element by element.
///
/// The centre adds in the order of ranks: ((rank 0 + rank 1) + rank 2) + ... in float, whichever values arrive first.
///
/// @param values  This rank's values; the same count on all ranks. May be empty.
/// @param place   Where this rank is. With one rank there is nothing to do.
/// @post  Bit-identical on all ranks, and in every run on the same values.
/// @cost  The centre receives and sends world_size - 1 times `values`; every other rank sends and receives it once.
void all_reduce(std::span<float> values, const Place& place);

}  // namespace lockstep::star
