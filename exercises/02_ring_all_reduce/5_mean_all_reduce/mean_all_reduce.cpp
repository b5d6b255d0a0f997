#include "02_ring_all_reduce/5_mean_all_reduce/mean_all_reduce.hpp"

#include <vector>

namespace lockstep::ring {

void all_reduce_mean(std::span<float> values, const Neighbours& place) {
  // TODO(02.5): sum up the chunks in P - 1 steps, divide the finished one, pass it on in P - 1
  lockstep::todo("02.5 all_reduce_mean");
}

}  // namespace lockstep::ring
