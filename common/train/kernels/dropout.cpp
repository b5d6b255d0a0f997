#include "kernels/dropout.hpp"

#include "base/philox.hpp"
#include "kernels/call.hpp"

namespace lockstep::kernels {

std::uint64_t dropout_key(std::uint64_t seed, std::int64_t step, std::uint64_t layer) noexcept {
  return mix64(mix64(seed, static_cast<std::uint64_t>(step)), layer);
}

void dropout_forward(const Tensor& out, const Tensor& input, const DropoutMask& mask, const Tensor& residual) {
  const Call call("dropout_forward", out, input, residual);
  call.require_like("input", input, out);
  if (residual.is_defined()) call.require_like("residual", residual, out);
  call.run(&Operations::dropout_forward, out, input, call.dropout(mask, out), residual);
}

void dropout_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const DropoutMask& mask) {
  if (write == Write::kAdd) return dropout_forward(input_gradient, out_gradient, mask, input_gradient);
  dropout_forward(input_gradient, out_gradient, mask);
}

}  // namespace lockstep::kernels
