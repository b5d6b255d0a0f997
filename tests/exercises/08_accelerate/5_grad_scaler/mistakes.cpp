#include <algorithm>

#include "08_accelerate/5_grad_scaler/grad_scaler.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"never_scales", "the loss is not scaled, so small gradients become 0", "Pass state.scale to backward()."},
    {"never_unscales", "the parameters are updated with gradients that are still multiplied by the scale",
     "Divide them by the scale before clip_grad_norm() and step()."},
    {"steps_anyway", "an update is made although a gradient is infinite",
     "One infinity makes all that follows worthless: look before step()."},
    {"never_backs_off", "the scale stays as it is after an overflow, so the next step overflows as well",
     "A skipped step multiplies the scale by backoff_factor."},
    {"unscales_with_next_scale", "the gradients are divided by the scale of the next step",
     "Change the scale after the gradients have been divided by the one that backward() had."},
    {"grows_late", "the scale grows one step too late",
     "After growth_interval updates in a row, the update with this number included."},
    {"grows_forever", "once the scale has grown, it grows with every further step",
     "The count of good steps begins anew whenever the scale has changed."},
    {"keeps_count", "a skipped step does not begin the count of good steps anew",
     "growth_interval counts updates in a row."},
    {"looks_at_own_gradient", "each rank looks at its own gradients, so only the one with the overflow skips",
     "All ranks must see the same. Look after the all-reduce."},
    {"misses_nan", "only infinities are looked for, but an infinity less an infinity is NaN", "Use std::isfinite()."},
    {"clips_before_unscale", "the gradients are clipped before they are divided by the scale",
     "max_norm is meant for the gradient of the loss itself. First divide, then clip."},
    {"clips_own_gradient", "each rank clips its own gradient, and the mean is made of what is left",
     "max_norm is meant for the mean. First average, then clip."},
    {"sums", "the sum over the ranks is not divided by their number",
     "all_reduce() adds; the mean is the sum / world_size()."},
    {"never_clips", "the gradient is not clipped", "Call clip_grad_norm() between the division and step()."},
    {"counts_itself", "the function counts good steps in a variable of its own, and does not look at state.good_steps",
     "A run that is continued does not begin with 0, and its state is all that a checkpoint keeps."},
    {"grows_early", "the scale grows one update too early",
     "After growth_interval updates, not before the last of them."},
    {"factors_of_their_own", "the scale is doubled and halved, whatever the options say",
     "Multiply by options.growth_factor and options.backoff_factor."},
    {"never_below_1", "the scale never falls below 1",
     "The factor applies at every scale: nothing is said of a least one."},
    {"reports_an_update", "true is returned for a skipped step",
     "The caller must know: its schedule of the learning rate waits for updates."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::accelerate {
namespace {

using exercise::is_mistake;

bool is_usable(std::span<const float> gradient) {
  if (is_mistake("steps_anyway")) return true;
  return std::ranges::all_of(
      gradient, [](float value) { return is_mistake("misses_nan") ? !std::isinf(value) : std::isfinite(value); });
}

// The count of good steps.
std::int64_t& counter_of(ScalerState& state) {
  static std::int64_t own_count = 0;
  return is_mistake("counts_itself") ? own_count : state.good_steps;
}

void grow(const ScalerOptions& options, ScalerState& state) {
  if (++counter_of(state) < options.growth_interval + (is_mistake("grows_late")    ? 1
                                                       : is_mistake("grows_early") ? -1
                                                                                   : 0))
    return;
  state.scale *= is_mistake("factors_of_their_own") ? 2 : options.growth_factor;
  if (!is_mistake("grows_forever")) counter_of(state) = 0;
}

}  // namespace

bool scaled_step(HalfReplica& replica, const ScalerOptions& options, ScalerState& state, Collectives& group) {
  const std::span<float> gradient = replica.gradient();
  replica.backward(is_mistake("never_scales") ? 1 : state.scale);
  const bool is_own_usable = is_usable(gradient);
  if (is_mistake("clips_own_gradient") && is_own_usable) clip_grad_norm(gradient, options.max_norm * state.scale);
  group.all_reduce(gradient).synchronize();
  if (!(is_mistake("looks_at_own_gradient") ? is_own_usable : is_usable(gradient))) {
    const double factor = is_mistake("factors_of_their_own") ? 0.5 : options.backoff_factor;
    if (!is_mistake("never_backs_off")) state.scale *= factor;
    if (is_mistake("never_below_1")) state.scale = std::max(state.scale, 1.0);
    if (!is_mistake("keeps_count")) counter_of(state) = 0;
    return is_mistake("reports_an_update");
  }
  if (is_mistake("unscales_with_next_scale")) grow(options, state);
  const bool is_scaled = !is_mistake("never_scales") && !is_mistake("never_unscales");
  const auto ranks = static_cast<double>(is_mistake("sums") ? 1 : group.world_size());
  if (is_mistake("clips_before_unscale")) {
    for (float& value : gradient) value = static_cast<float>(value / ranks);
    clip_grad_norm(gradient, options.max_norm);
    for (float& value : gradient) value = static_cast<float>(value / state.scale);
  } else {
    for (float& value : gradient) value = static_cast<float>(value / ranks / (is_scaled ? state.scale : 1));
    if (!is_mistake("never_clips")) clip_grad_norm(gradient, options.max_norm);
  }
  replica.step();
  if (!is_mistake("unscales_with_next_scale")) grow(options, state);
  return true;
}

}  // namespace lockstep::accelerate
