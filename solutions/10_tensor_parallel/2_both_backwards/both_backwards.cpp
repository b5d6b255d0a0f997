#include "10_tensor_parallel/2_both_backwards/both_backwards.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace lockstep::tensor_parallel {

Variable copy_to_ranks(const Variable& input, Collectives& group) {
  // SOLUTION(10.2) copy_to_ranks: forward the same elements, backward the sum over the ranks
  return record(input.value(), {input}, [input = input.without_value(), &group](const Tensor& gradient) {
    Tensor sum = gradient.clone();  // others may hold the gradient too
    group.all_reduce(sum.span<float>()).synchronize();
    input.accumulate_gradient(std::move(sum));
  });
  // END SOLUTION
}

Variable sum_over_ranks(const Variable& partial, Collectives& group) {
  // SOLUTION(10.2) sum_over_ranks: forward the sum over the ranks, backward the gradient as it is
  const Tensor sum = partial.value().clone();
  group.all_reduce(sum.span<float>()).synchronize();
  return record(sum, {partial}, [partial = partial.without_value()](Tensor gradient) {
    partial.accumulate_gradient(std::move(gradient));
  });
  // END SOLUTION
}

void sum_partial_gradients(std::span<const Variable> parameters, Collectives& group) {
  // SOLUTION(10.2) sum_partial_gradients: all gradients side by side, one all-reduce, and back
  std::vector<float> all;
  for (const Variable& norm : parameters) {
    if (!norm.has_gradient()) continue;
    const std::span<const float> gradient = norm.gradient().span<float>();
    all.insert(all.end(), gradient.begin(), gradient.end());
  }
  group.all_reduce(all).synchronize();
  auto from = all.begin();
  for (const Variable& norm : parameters) {
    if (!norm.has_gradient()) continue;
    const std::span<float> gradient = norm.gradient().span<float>();
    std::ranges::copy_n(from, std::ssize(gradient), gradient.begin());
    from += std::ssize(gradient);
  }
  // END SOLUTION
}

}  // namespace lockstep::tensor_parallel
