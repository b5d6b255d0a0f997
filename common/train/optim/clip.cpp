#include "optim/clip.hpp"

#include <cmath>
#include <set>

#include "kernels/elementwise.hpp"
#include "kernels/optimizer.hpp"

namespace lockstep::optim {

double clip_grad_norm(const std::vector<autograd::Variable>& parameters, double max_norm) {
  std::vector<Tensor> gradients;
  std::set<autograd::GradientObserver*> observers;
  for (const autograd::Variable& parameter : parameters) {
    if (!parameter.has_gradient()) continue;
    gradients.push_back(parameter.gradient());
    observers.insert(parameter.observers().begin(), parameter.observers().end());
  }
  const double norm = std::sqrt(kernels::squared_norm(gradients));
  for (autograd::GradientObserver* const observer : observers) observer->require_sound_gradients();
  const double factor = max_norm / (norm + 1e-6);
  if (!(factor >= 1)) {  // also if the norm is NaN: the gradients become NaN, as in PyTorch
    for (const Tensor& gradient : gradients) kernels::scale(gradient, factor);
  }
  return norm;
}

}  // namespace lockstep::optim
