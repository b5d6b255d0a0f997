#include "exercise/alternatives.hpp"

#include <algorithm>
#include <vector>

#include "08_accelerate/5_grad_scaler/grad_scaler.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"unscales_first", "each rank divides by scale and ranks before it sends; what is not finite stays so"},
    {"sends_a_flag", "the ranks exchange whether they had an overflow before they send their gradients"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::accelerate {

using exercise::is_alternative;

bool scaled_step(HalfReplica& replica, const ScalerOptions& options, ScalerState& state, Collectives& group) {
  replica.backward(state.scale);
  const std::span<float> gradient = replica.gradient();
  const double divisor = state.scale * group.world_size();
  const auto is_finite = [](float value) { return value - value == 0; };
  bool skips = false;
  if (is_alternative("sends_a_flag")) {
    const bool overflows = !std::ranges::all_of(gradient, is_finite);
    const auto all = group.gather_rows(std::vector<std::int64_t>{overflows ? 1 : 0});
    skips = std::ranges::count(all, 1) > 0;
  }
  if (!skips) {
    for (float& value : gradient) value = static_cast<float>(value / divisor);
    group.all_reduce(gradient).synchronize();
    skips = !std::ranges::all_of(gradient, is_finite);
  }
  if (skips) {
    state = {.scale = state.scale * options.backoff_factor, .good_steps = 0};
    return false;
  }
  clip_grad_norm(gradient, options.max_norm);
  replica.step();
  state.good_steps = (state.good_steps + 1) % options.growth_interval;
  if (state.good_steps == 0) state.scale *= options.growth_factor;
  return true;
}

}  // namespace lockstep::accelerate
