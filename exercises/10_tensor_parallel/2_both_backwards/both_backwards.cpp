#include "10_tensor_parallel/2_both_backwards/both_backwards.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace lockstep::tensor_parallel {

Variable copy_to_ranks(const Variable& input, Collectives& group) {
  // TODO(10.2): forward the same elements, backward the sum over the ranks
  lockstep::todo("10.2 copy_to_ranks");
}

Variable sum_over_ranks(const Variable& partial, Collectives& group) {
  // TODO(10.2): forward the sum over the ranks, backward the gradient as it is
  lockstep::todo("10.2 sum_over_ranks");
}

void sum_partial_gradients(std::span<const Variable> parameters, Collectives& group) {
  // TODO(10.2): all gradients side by side, one all-reduce, and back
  lockstep::todo("10.2 sum_partial_gradients");
}

}  // namespace lockstep::tensor_parallel
