#include <algorithm>
#include <utility>
#include <vector>

#include "10_tensor_parallel/2_both_backwards/both_backwards.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"copy_passes_on", "copy_to_ranks() is the identity in backward too, so each rank lacks the others' terms",
     "Each rank's gradient comes from its own columns: sum them."},
    {"copy_is_data", "copy_to_ranks() returns data, which no gradient passes",
     "Return what record() returns: it connects the result with the input."},
    {"copy_averages", "copy_to_ranks() averages the gradients, as data parallelism does",
     "They are terms of one sum: do not divide."},
    {"copy_adds_own", "copy_to_ranks() passes on the sum and this rank's gradient once more",
     "The sum contains this rank's gradient."},
    {"copy_sums_forward", "copy_to_ranks() sums in forward too", "All ranks have the same input: pass it on as it is."},
    {"sum_sums_again", "sum_over_ranks() sums in backward too, so gradients are N times too large",
     "All ranks have the same gradient of the same loss: pass it on as it is."},
    {"sum_divides", "sum_over_ranks() divides the gradient by the number of ranks",
     "The derivative of a sum with respect to each term is 1."},
    {"sum_averages", "sum_over_ranks() averages the terms", "The product with the uncut matrix is their sum."},
    {"sum_is_missing", "sum_over_ranks() returns this rank's term", "all_reduce() it in forward."},
    {"functions_swapped", "the two functions are swapped",
     "Before the cut layer: copy_to_ranks(), which does nothing in forward."},
    {"backwards_swapped", "the two backward passes are swapped",
     "Where forward sums, backward is the identity, and the other way round."},
    {"overwrites_terms", "sum_over_ranks() overwrites the value of its input", "all_reduce() a clone of the value."},
    {"overwrites_gradient", "copy_to_ranks() overwrites a gradient that others hold too",
     "all_reduce() a clone of the gradient."},
    {"forward_not_awaited", "the all-reduce in forward is not waited for", "Call synchronize() before record()."},
    {"backward_not_awaited", "the all-reduce in backward is not waited for",
     "Call synchronize() before accumulate_gradient()."},
    {"keeps_terms", "the terms stay in memory until backward, though nobody reads them",
     "Capture partial.without_value()."},
    {"cuts_the_graph", "sum_over_ranks() returns data, where backward ends", "Return what record() returns."},
    {"norms_left_alone", "the gradients of norms are not summed, so each rank trains norms of its own",
     "Each rank has seen its own rows only: all_reduce() the gradients."},
    {"norms_averaged", "the gradients of norms are averaged, so they are N times too small",
     "The ranks have seen different rows of the same samples: their gradients are terms of a sum."},
    {"norms_one_by_one", "each norm has an all-reduce of its own", "Put all gradients into one vector first."},
    {"norms_values", "the values of norms are summed and not their gradients", "gradient(), not value()."},
    {"norms_not_written_back", "the sums are computed and thrown away", "Copy them back into the gradients."},
    {"norms_first_only", "every gradient gets the elements of the first one",
     "Go on in the vector where the gradient before has ended."},
    {"asks_the_frozen", "a frozen parameter is asked for its gradient", "Skip parameters without has_gradient()."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::tensor_parallel {

using exercise::is_mistake;

namespace {

Tensor summed(const Tensor& tensor, Collectives& group, bool is_awaited = true) {
  exercise::Work work = group.all_reduce(tensor.span<float>());
  if (is_awaited) work.synchronize();
  return tensor;
}

void divide(const Tensor& tensor, int divisor) {
  for (float& element : tensor.span<float>()) element /= static_cast<float>(divisor);
}

}  // namespace

Variable copy_to_ranks(const Variable& input, Collectives& group) {
  Tensor value = input.value();
  if (is_mistake("copy_sums_forward") || is_mistake("functions_swapped")) value = summed(value.clone(), group);
  if (is_mistake("copy_is_data")) return Variable(value);
  return record(value, {input}, [input = input.without_value(), &group](const Tensor& gradient) {
    if (is_mistake("copy_passes_on") || is_mistake("functions_swapped") || is_mistake("backwards_swapped")) {
      input.accumulate_gradient(gradient);
      return;
    }
    const bool overwrites = is_mistake("overwrites_gradient");
    Tensor sum = summed(overwrites ? gradient : gradient.clone(), group, !is_mistake("backward_not_awaited"));
    if (is_mistake("copy_averages")) divide(sum, group.world_size());
    if (is_mistake("copy_adds_own")) input.accumulate_gradient(gradient.clone());
    input.accumulate_gradient(std::move(sum));
  });
}

Variable sum_over_ranks(const Variable& partial, Collectives& group) {
  Tensor sum = is_mistake("overwrites_terms") ? partial.value() : partial.value().clone();
  if (!is_mistake("sum_is_missing") && !is_mistake("functions_swapped"))
    sum = summed(sum, group, !is_mistake("forward_not_awaited"));
  if (is_mistake("sum_averages")) divide(sum, group.world_size());
  if (is_mistake("cuts_the_graph")) return Variable(sum);
  const Variable kept = is_mistake("keeps_terms") ? partial : partial.without_value();
  return record(sum, {partial}, [kept, &group](Tensor gradient) {
    if (is_mistake("sum_sums_again") || is_mistake("functions_swapped") || is_mistake("backwards_swapped"))
      gradient = summed(gradient.clone(), group);
    if (is_mistake("sum_divides")) {
      gradient = gradient.clone();
      divide(gradient, group.world_size());
    }
    kept.accumulate_gradient(std::move(gradient));
  });
}

void sum_partial_gradients(std::span<const Variable> parameters, Collectives& group) {
  if (is_mistake("norms_left_alone")) return;
  std::vector<float> all;
  const auto elements_of = [](const Variable& parameter) {
    return (is_mistake("norms_values") ? parameter.value() : parameter.gradient()).span<float>();
  };
  for (const Variable& parameter : parameters) {
    if (!parameter.has_gradient() && !is_mistake("asks_the_frozen")) continue;
    if (is_mistake("norms_one_by_one")) {
      group.all_reduce(elements_of(parameter)).synchronize();
      continue;
    }
    const std::span<float> elements = elements_of(parameter);
    all.insert(all.end(), elements.begin(), elements.end());
  }
  if (is_mistake("norms_one_by_one")) return;
  group.all_reduce(all).synchronize();
  if (is_mistake("norms_not_written_back")) return;
  auto from = all.begin();
  for (const Variable& parameter : parameters) {
    if (!parameter.has_gradient()) continue;
    const std::span<float> elements = elements_of(parameter);
    std::ranges::copy_n(from, std::ssize(elements), elements.begin());
    if (!is_mistake("norms_first_only")) from += std::ssize(elements);
    if (is_mistake("norms_averaged"))
      for (float& element : elements) element /= static_cast<float>(group.world_size());
  }
}

}  // namespace lockstep::tensor_parallel
