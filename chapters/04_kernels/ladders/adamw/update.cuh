#pragma once
// One parameter's step, shared by both fused rungs.
// Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::adamw {

// AdamW's state for one parameter. By value: with references, the compiler would assume that the three may alias, and
// reload them after each write.
struct Kept {
  float parameter, first_moment, second_moment;
};

__device__ inline Kept updated(Kept kept, float gradient, const AdamWStep& step) {
  const float first = step.beta1 * kept.first_moment + (1.0F - step.beta1) * gradient;
  const float second = step.beta2 * kept.second_moment + (1.0F - step.beta2) * gradient * gradient;
  const float mean = first / step.first_correction, square = second / step.second_correction;
  const float decayed = kept.parameter * (1.0F - step.learning_rate * step.weight_decay);
  return {decayed - step.learning_rate * mean / (sqrtf(square) + step.epsilon), first, second};
}

__device__ inline void update_one(const AdamWState& state, const float* gradients, int i, const AdamWStep& step) {
  const Kept kept = {state.parameters[i], state.first_moments[i], state.second_moments[i]};
  const Kept result = updated(kept, gradients[i], step);
  state.parameters[i] = result.parameter;
  state.first_moments[i] = result.first_moment;
  state.second_moments[i] = result.second_moment;
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::adamw
