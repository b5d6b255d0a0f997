#include "10_tensor_parallel/5_random_numbers/random_numbers.hpp"

namespace lockstep::tensor_parallel {

std::uint64_t seed_for(const Draw& draw, const Place& place) {
  // TODO(10.5): which numbers of the rank's place belong into which seed?
  lockstep::todo("10.5 seed_for");
}

void drop_part(std::span<float> elements, const Dropout& dropout, const Part& part) {
  // TODO(10.5): which sample does an element belong to, and where is it in the whole one?
  lockstep::todo("10.5 drop_part");
}

}  // namespace lockstep::tensor_parallel
