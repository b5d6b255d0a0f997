#pragma once
/// @file
/// Gradient clipping by global norm.
#include <vector>

#include "autograd/variable.hpp"

namespace lockstep::optim {

/// Scales all gradients by max_norm / (norm + 1e-6) if that is below 1, as torch.nn.utils.clip_grad_norm_. Parameters
/// without a gradient are skipped.
/// @throws  As autograd::GradientObserver::require_sound_gradients() of their observers.
/// @param max_norm  Infinity: only measures.
/// @return          The 2-norm of all gradients together, before clipping.
/// @cost            One pass over the gradients, a second one only if they are scaled.
double clip_grad_norm(const std::vector<autograd::Variable>& parameters, double max_norm);

}  // namespace lockstep::optim
