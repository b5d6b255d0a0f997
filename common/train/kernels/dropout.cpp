#include "kernels/dropout.hpp"

#include "base/philox.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/device_call.hpp"

namespace lockstep::kernels {

std::uint64_t dropout_key(std::uint64_t seed, std::int64_t step, std::uint64_t layer) noexcept {
  return mix64(mix64(seed, static_cast<std::uint64_t>(step)), layer);
}

void dropout_forward(const Tensor& out, const Tensor& input, const DropoutMask& mask, const Tensor& residual) {
  if (is_on_cpu("dropout_forward", out, input, residual)) return cpu::dropout_forward(out, input, mask, residual);
  require_like("dropout_forward", "input", input, out);
  if (!mask.is_active()) return residual.is_defined() ? add(out, residual, input) : copy(out, input);
  if (residual.is_defined()) require_like("dropout_forward", "residual", residual, out);
  DeviceCall call("dropout_forward", out);
  const DeviceDropout dropout = call.dropout(mask, out);
  call.ops().dropout_forward(array_of(out), array_of(input), dropout, array_of(residual), call.context());
}

void dropout_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const DropoutMask& mask) {
  if (write == Write::kAdd) return dropout_forward(input_gradient, out_gradient, mask, input_gradient);
  dropout_forward(input_gradient, out_gradient, mask);
}

}  // namespace lockstep::kernels
