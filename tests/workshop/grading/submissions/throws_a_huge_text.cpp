// Throws an exception with a text of 50 MB.
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  if (place.rank > 0) ::pause();
  throw std::runtime_error(std::string(50 << 20, 'x'));
}

}  // namespace lockstep::ring
