#include "12_three_dimensions/4_one_norm/one_norm.hpp"

#include <cmath>

namespace lockstep::one_norm {

double own_squares(std::span<const Part> parts, const Place& place) {
  // TODO(12.4): of each part that this rank counts, the squares in float64
  lockstep::todo("12.4 own_squares");
}

double clip_gradient(std::span<const Part> parts, const Place& place, double max_norm, ShardCollectives& world) {
  // TODO(12.4): one sum over all ranks, one root, one factor for everything
  lockstep::todo("12.4 clip_gradient");
}

}  // namespace lockstep::one_norm
