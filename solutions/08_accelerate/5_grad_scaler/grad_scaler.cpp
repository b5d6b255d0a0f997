#include "08_accelerate/5_grad_scaler/grad_scaler.hpp"

#include <algorithm>

namespace lockstep::accelerate {

bool scaled_step(HalfReplica& replica, const ScalerOptions& options, ScalerState& state, Collectives& group) {
  // SOLUTION(08.5) scaled_step: average, skip if anything is not finite, else unscale, clip and update
  const std::span<float> gradient = replica.gradient();
  replica.backward(state.scale);
  group.all_reduce(gradient).synchronize();
  // An infinity or a NaN of any rank has become part of the sum, which is the same on all: they decide alike.
  if (!std::ranges::all_of(gradient, [](float value) { return std::isfinite(value); })) {
    state.scale *= options.backoff_factor;
    state.good_steps = 0;
    return false;
  }
  const double divisor = state.scale * group.world_size();
  for (float& value : gradient) value = static_cast<float>(value / divisor);
  clip_grad_norm(gradient, options.max_norm);
  replica.step();
  if (++state.good_steps == options.growth_interval) {
    state.scale *= options.growth_factor;
    state.good_steps = 0;
  }
  return true;
  // END SOLUTION
}

}  // namespace lockstep::accelerate
