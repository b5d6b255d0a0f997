#pragma once
/// @file
/// Gradient clipping by global norm.
#include <vector>

#include "autograd/variable.hpp"

namespace lockstep::optim {

/// The sum of the squares of all gradients' elements: the square of their 2-norm. If ranks hold different elements, add
/// their results up, each element once. Parameters without a gradient are skipped.
/// @throws  As autograd::GradientObserver::require_sound_gradients() of their observers.
/// @cost    One pass over the gradients; on a device, blocks the host until they are computed.
[[nodiscard]] double squared_norm(const std::vector<autograd::Variable>& parameters);

/// Scales all gradients by max_norm / (norm + 1e-6) if that is below 1. As in PyTorch, a norm that is NaN makes all
/// gradients NaN, and an infinite norm makes finite gradients 0 and infinite ones NaN.
/// @throws ContractError  max_norm is negative or NaN.
/// @param norm      Of all gradients together, also those of other ranks.
/// @param max_norm  Infinity: scales nothing, whatever the norm. (If the norm is infinite or NaN, PyTorch makes all
///                  gradients NaN.)
/// @cost            One pass over the gradients, if they are scaled.
void clip_to(const std::vector<autograd::Variable>& parameters, double norm, double max_norm);

/// Both: scales all gradients by max_norm / (norm + 1e-6) if that is below 1, as torch.nn.utils.clip_grad_norm_ and
/// clip_to(). Parameters without a gradient are skipped.
/// @throws          As squared_norm() and clip_to().
/// @param max_norm  Infinity: only measures, also an infinite norm.
/// @return          The 2-norm of all gradients together, before clipping.
/// @cost            One pass over the gradients, a second one only if they are scaled.
double clip_grad_norm(const std::vector<autograd::Variable>& parameters, double max_norm);

}  // namespace lockstep::optim
