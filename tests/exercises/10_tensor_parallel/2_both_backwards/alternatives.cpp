#include "exercise/alternatives.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "10_tensor_parallel/2_both_backwards/both_backwards.hpp"
#include "autograd/functions.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"adds_what_is_missing",
     "sum_over_ranks() adds the other ranks' terms as data with add(), whose backward is the identity"},
    {"sums_in_place_if_it_may", "copy_to_ranks() sums a gradient in place if nobody else holds it"},
    {"into_zeros", "copy_to_ranks() returns input + 0 and sums in an operation before it; new gradients are adopted"},
    {"alone_as_it_is", "on one rank both functions return their input itself"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::tensor_parallel {

using exercise::is_alternative;

Variable copy_to_ranks(const Variable& input, Collectives& group) {
  if (is_alternative("alone_as_it_is") && group.world_size() == 1) return input;
  const Variable copy = record(input.value().clone(), {input}, [input, &group](Tensor gradient) {
    const bool may_overwrite = is_alternative("sums_in_place_if_it_may") && autograd::is_exclusive(gradient);
    if (!may_overwrite) gradient = gradient.clone();
    group.all_reduce(gradient.span<float>()).synchronize();
    input.accumulate_gradient(std::move(gradient));
  });
  if (!is_alternative("into_zeros")) return copy;
  return autograd::add(copy, Variable(Tensor::zeros(input.shape())));
}

Variable sum_over_ranks(const Variable& partial, Collectives& group) {
  if (is_alternative("alone_as_it_is") && group.world_size() == 1) return partial;
  const Tensor sum = partial.value().clone();
  group.all_reduce(sum.span<float>()).synchronize();
  if (is_alternative("adds_what_is_missing")) {
    const std::span<const float> own = partial.value().span<float>();
    std::ranges::transform(sum.span<float>(), own, sum.span<float>().begin(),
                           [](float all, float term) { return all - term; });
    return autograd::add(partial, Variable(sum));
  }
  return record(sum, {partial}, [term = partial.without_value()](const Tensor& gradient) {
    const auto [d_term, write] = term.begin_gradient_write();
    const std::span<const float> from = gradient.span<float>();
    const std::span<float> to = d_term.span<float>();
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = write == autograd::GradientWrite::kOverwrite ? from[i] : to[i] + from[i];
  });
}

void sum_partial_gradients(std::span<const Variable> parameters, Collectives& group) {
  std::vector<Variable> trained;
  for (const Variable& parameter : parameters)
    if (parameter.requires_grad()) trained.push_back(parameter);
  std::ranges::reverse(trained);
  std::vector<float> all;
  for (const Variable& parameter : trained)
    std::ranges::copy(parameter.gradient().span<float>(), std::back_inserter(all));
  exercise::Work work = group.all_reduce(all);
  work.synchronize();
  std::span<const float> left = all;
  for (const Variable& parameter : trained) {
    const auto count = static_cast<std::size_t>(parameter.shape().count());
    parameter.adopt_gradient(Tensor::from<float>(left.first(count), parameter.shape()));
    left = left.subspan(count);
  }
}

}  // namespace lockstep::tensor_parallel
