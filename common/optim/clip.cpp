#include "optim/clip.hpp"

#include <cmath>

#include "kernels/optimizer.hpp"

namespace lockstep::optim {

double clip_grad_norm(const std::vector<autograd::Variable>& parameters, double max_norm) {
  double squares = 0;
  for (const autograd::Variable& parameter : parameters) {
    if (parameter.has_gradient()) squares += kernels::squared_norm(parameter.gradient().span<float>());
  }
  const double norm = std::sqrt(squares);
  const double factor = max_norm / (norm + 1e-6);
  if (!(factor >= 1)) {  // also where the norm is NaN: the gradients become NaN, as in PyTorch
    for (const autograd::Variable& parameter : parameters) {
      if (parameter.has_gradient()) kernels::scale(parameter.gradient().span<float>(), factor);
    }
  }
  return norm;
}

}  // namespace lockstep::optim
