#pragma once
// One parameter's step, as both fused rungs compute it.
// Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::adamw {

__device__ inline void update(float& parameter, float& first, float& second, float gradient, const AdamWStep& step) {
  first = step.beta1 * first + (1.0F - step.beta1) * gradient;
  second = step.beta2 * second + (1.0F - step.beta2) * gradient * gradient;
  const float mean = first / step.first_correction, square = second / step.second_correction;
  parameter *= 1.0F - step.learning_rate * step.weight_decay;
  parameter -= step.learning_rate * mean / (sqrtf(square) + step.epsilon);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::adamw
