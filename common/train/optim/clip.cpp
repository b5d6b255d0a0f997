#include "optim/clip.hpp"

#include <cmath>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/optimizer.hpp"

namespace lockstep::optim {

double squared_norm(const std::vector<autograd::Variable>& parameters) {
  std::vector<Tensor> gradients;
  std::set<autograd::GradientObserver*> observers;
  for (const autograd::Variable& parameter : parameters) {
    if (!parameter.has_gradient()) continue;
    gradients.push_back(parameter.gradient());
    observers.insert(parameter.observers().begin(), parameter.observers().end());
  }
  const double squares = kernels::squared_norm(gradients);
  for (autograd::GradientObserver* const observer : observers) observer->require_sound_gradients();
  return squares;
}

void clip_to(const std::vector<autograd::Variable>& parameters, double norm, double max_norm) {
  require(max_norm >= 0, "optim: gradients cannot be clipped to a norm of ", max_norm);
  if (max_norm == std::numeric_limits<double>::infinity()) return;
  const double factor = max_norm / (norm + 1e-6);
  if (factor >= 1) return;  // not if the norm is NaN: the gradients become NaN, as in PyTorch
  for (const autograd::Variable& parameter : parameters) {
    if (parameter.has_gradient()) kernels::scale(parameter.gradient(), factor);
  }
}

double clip_grad_norm(const std::vector<autograd::Variable>& parameters, double max_norm) {
  const double norm = std::sqrt(squared_norm(parameters));
  clip_to(parameters, norm, max_norm);
  return norm;
}

}  // namespace lockstep::optim
