#include <algorithm>
#include <vector>

#include "06_gpt_ddp/3_naive_ddp/naive_ddp.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"sums", "the sum is not divided by the number of ranks", "all_reduce() adds; the mean is the sum / world_size."},
    {"skips_unused", "a rank leaves out the parameters that it has no gradient for, so the ranks send different counts",
     "The layout of what is sent must be the same on all ranks: send zeros instead."},
    {"sends_old_numbers", "a rank without a gradient sends the old numbers in its span instead of zeros",
     "Look at has_gradient before you copy `values`."},
    {"multiplies_by_flag", "old numbers are multiplied by 0 and not left out, and 0 times infinity is NaN",
     "If has_gradient is false, append zeros, and do not read `values`."},
    {"zero_is_unused", "a gradient whose mean is 0 is taken for one that no rank has",
     "Ranks can have gradients of zeros, or of opposite signs: send a flag for each parameter."},
    {"divides_by_users", "the sum is divided by the number of ranks that have a gradient",
     "A rank without a gradient counts as zeros, so the mean is over all ranks."},
    {"keeps_own_flags", "has_gradient stays what it was on each rank",
     "The mean is this rank's gradient now, even if it had none of its own."},
    {"marks_all", "parameters that no rank has used get a gradient of zeros",
     "An optimizer would still apply momentum and weight decay to them. Which sum is 0 only if no rank used it?"},
    {"one_each", "every gradient has an all-reduce of its own", "Copy all of them into one vector first."},
    {"not_awaited", "the all-reduce is issued but not waited for",
     "all_reduce() returns at once: call synchronize() on what it returns."},
    {"leaves_without_gradients", "a rank without any gradient returns before the all-reduce that the others are in",
     "It has nothing to contribute but zeros, and those it has to send."},
    {"only_own_flags", "means are written only if this rank had a gradient itself",
     "The mean is this rank's gradient too: look at the sum of all ranks' flags, not at its own."},
    {"clears_unused", "gradients that no rank has are filled with zeros", "They are to be left as they were."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {
namespace {

using exercise::is_mistake;

void append(std::vector<float>& flat, const Gradient& gradient) {
  if (gradient.has_gradient || is_mistake("sends_old_numbers"))
    flat.insert(flat.end(), gradient.values.begin(), gradient.values.end());
  else if (is_mistake("multiplies_by_flag"))
    for (const float value : gradient.values) flat.push_back(value * 0.0F);
  else if (!is_mistake("skips_unused"))
    flat.resize(flat.size() + gradient.values.size());
}

void average(std::span<Gradient> gradients, Collectives& group) {
  std::vector<float> flat;
  for (const Gradient& gradient : gradients) append(flat, gradient);
  for (const Gradient& gradient : gradients) flat.push_back(gradient.has_gradient ? 1.0F : 0.0F);
  if (is_mistake("leaves_without_gradients") &&
      std::ranges::none_of(gradients, [](const Gradient& gradient) { return gradient.has_gradient; }))
    return;
  exercise::Work work = group.all_reduce(flat);
  if (!is_mistake("not_awaited")) work.synchronize();
  const std::size_t first_flag = flat.size() - gradients.size();
  std::size_t position = 0;
  for (std::size_t p = 0; p < gradients.size(); ++p) {
    Gradient& gradient = gradients[p];
    const float users = flat[first_flag + p];
    bool is_used = users > 0 || is_mistake("marks_all");
    if (is_mistake("zero_is_unused"))
      is_used = std::ranges::any_of(std::span(flat).subspan(position, gradient.values.size()),
                                    [](float sum) { return sum != 0; });
    if (is_mistake("only_own_flags")) is_used = gradient.has_gradient;
    if (is_mistake("clears_unused") && !is_used) std::ranges::fill(gradient.values, 0.0F);
    if (!is_mistake("keeps_own_flags")) gradient.has_gradient = is_used;
    auto divisor = static_cast<float>(group.world_size());
    if (is_mistake("sums")) divisor = 1;
    if (is_mistake("divides_by_users")) divisor = std::max(1.0F, users);
    for (std::size_t i = 0; is_used && i < gradient.values.size(); ++i)
      gradient.values[i] = flat[position + i] / divisor;
    position += gradient.values.size();
  }
}

}  // namespace

void average_gradients(std::span<Gradient> gradients, Collectives& group) {
  if (!is_mistake("one_each")) return average(gradients, group);
  for (std::size_t p = 0; p < gradients.size(); ++p) average(gradients.subspan(p, 1), group);
}

}  // namespace lockstep::ddp
