#include "exercise/alternatives.hpp"

#include <algorithm>
#include <vector>

#include "06_gpt_ddp/3_naive_ddp/naive_ddp.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"flag_before_each", "each flag stands before the values of its gradient"},
    {"divides_first", "all flags come first, the values are divided before they are sent, and flags are negative"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {

using exercise::is_alternative;

void average_gradients(std::span<Gradient> gradients, Collectives& group) {
  const auto ranks = static_cast<float>(group.world_size());
  std::vector<float> flat;
  if (is_alternative("flag_before_each")) {
    for (const Gradient& gradient : gradients) {
      flat.push_back(gradient.has_gradient ? 1 : 0);
      for (const float value : gradient.values) flat.push_back(gradient.has_gradient ? value : 0);
    }
    group.all_reduce(flat).synchronize();
    std::size_t next = 0;
    for (Gradient& gradient : gradients) {
      gradient.has_gradient = flat[next++] >= 1;
      for (float& value : gradient.values) {
        if (gradient.has_gradient) value = flat[next] / ranks;
        ++next;
      }
    }
    return;
  }
  for (const Gradient& gradient : gradients) flat.push_back(gradient.has_gradient ? -1 : 0);
  for (const Gradient& gradient : gradients)
    for (const float value : gradient.values) flat.push_back(gradient.has_gradient ? value / ranks : 0);
  exercise::Work sum = group.all_reduce(flat);
  sum.synchronize();
  auto next = flat.begin() + std::ssize(gradients);
  for (std::size_t p = 0; p < gradients.size(); ++p) {
    const auto count = std::ssize(gradients[p].values);
    if (flat[p] < 0) std::copy_n(next, count, gradients[p].values.begin());
    gradients[p].has_gradient = flat[p] != 0;
    next += count;
  }
}

}  // namespace lockstep::ddp
