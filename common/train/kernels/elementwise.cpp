#include "kernels/elementwise.hpp"

#include "device/copy.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/device_call.hpp"

namespace lockstep::kernels {

void fill(const Tensor& out, double value) {
  if (is_on_cpu("fill", out)) return cpu::fill(out, value);
  require(out.dtype() == DType::kFloat32, "fill: needs float32, not ", out.dtype());
  const DeviceCall call("fill", out);
  call.ops().fill(array_of(out), value, call.context());
}

void copy(const Tensor& out, const Tensor& input) {
  if (is_on_cpu("copy", out, input)) return cpu::copy(out, input);
  require_like("copy", "input", input, out);
  copy_memory({out.data(), out.device()}, {input.data(), input.device()}, static_cast<std::size_t>(out.bytes()));
}

void cast(const Tensor& out, const Tensor& input) {
  if (is_on_cpu("cast", out, input)) return cpu::cast(out, input);
  if (out.dtype() == input.dtype()) return copy(out, input);
  const bool is_widening = is_reduced_float(input.dtype()) && out.dtype() == DType::kFloat32;
  const bool is_narrowing = input.dtype() == DType::kFloat32 && is_reduced_float(out.dtype());
  require(input.is_defined() && (is_widening || is_narrowing) && input.count() == out.count(), "cast: ", input.dtype(),
          " ", input.shape(), " cannot become ", out.dtype(), " ", out.shape());
  const DeviceCall call("cast", out);
  call.ops().cast(array_of(out), array_of(input), call.context());
}

void add(const Tensor& out, const Tensor& a, const Tensor& b) {
  if (is_on_cpu("add", out, a, b)) return cpu::add(out, a, b);
  require_like("add", "a", a, out);
  require_like("add", "b", b, out);
  const DeviceCall call("add", out);
  call.ops().add(array_of(out), array_of(a), array_of(b), call.context());
}

void add_scaled(const Tensor& out, double factor, const Tensor& input) {
  if (is_on_cpu("add_scaled", out, input)) return cpu::add_scaled(out, factor, input);
  require_like("add_scaled", "input", input, out);
  const DeviceCall call("add_scaled", out);
  call.ops().add_scaled(array_of(out), factor, array_of(input), call.context());
}

void scale(const Tensor& out, double factor) {
  if (is_on_cpu("scale", out)) return cpu::scale(out, factor);
  const DeviceCall call("scale", out);
  call.ops().scale(array_of(out), factor, call.context());
}

void add_bias(const Tensor& out, const Tensor& input, const Tensor& bias) {
  if (is_on_cpu("add_bias", out, input, bias)) return cpu::add_bias(out, input, bias);
  require_like("add_bias", "input", input, out);
  require_count("add_bias", "bias", bias, columns_of(out), DType::kFloat32);
  const DeviceCall call("add_bias", out);
  call.ops().add_bias(array_of(out), array_of(input), array_of(bias), call.context());
}

void relu_forward(const Tensor& out, const Tensor& input) {
  if (is_on_cpu("relu_forward", out, input)) return cpu::relu_forward(out, input);
  require_like("relu_forward", "input", input, out);
  const DeviceCall call("relu_forward", out);
  call.ops().relu_forward(array_of(out), array_of(input), call.context());
}

void relu_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& out) {
  if (is_on_cpu("relu_backward", input_gradient, out_gradient, out)) {
    return cpu::relu_backward(input_gradient, write, out_gradient, out);
  }
  require_like("relu_backward", "out gradient", out_gradient, input_gradient);
  require_like("relu_backward", "out", out, input_gradient);
  const DeviceCall call("relu_backward", out);
  call.ops().relu_backward(array_of(input_gradient), write, array_of(out_gradient), array_of(out), call.context());
}

void exp_forward(const Tensor& out, const Tensor& input) {
  if (is_on_cpu("exp_forward", out, input)) return cpu::exp_forward(out, input);
  require_like("exp_forward", "input", input, out);
  const DeviceCall call("exp_forward", out);
  call.ops().exp_forward(array_of(out), array_to_read(input), call.context());
}

void silu_forward(const Tensor& out, const Tensor& input) {
  if (is_on_cpu("silu_forward", out, input)) return cpu::silu_forward(out, input);
  require_like("silu_forward", "input", input, out);
  const DeviceCall call("silu_forward", out);
  call.ops().silu_forward(array_of(out), array_to_read(input), call.context());
}

void silu_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& input) {
  if (is_on_cpu("silu_backward", input_gradient, out_gradient, input)) {
    return cpu::silu_backward(input_gradient, write, out_gradient, input);
  }
  require_like("silu_backward", "out gradient", out_gradient, input_gradient);
  require_like("silu_backward", "input", input, input_gradient);
  const DeviceCall call("silu_backward", input);
  call.ops().silu_backward(array_of(input_gradient), write, array_to_read(out_gradient), array_to_read(input),
                           call.context());
}

void gelu_forward(const Tensor& out, const Tensor& input) {
  if (is_on_cpu("gelu_forward", out, input)) return cpu::gelu_forward(out, input);
  require_like("gelu_forward", "input", input, out);
  const DeviceCall call("gelu_forward", out);
  call.ops().gelu_forward(array_of(out), array_of(input), call.context());
}

void gelu_backward_again(const Tensor& out, const Tensor& gradient, const Tensor& input) {
  if (is_on_cpu("gelu_backward_again", out, gradient, input)) return cpu::gelu_backward_again(out, gradient, input);
  require_like("gelu_backward_again", "gradient", gradient, out);
  require_like("gelu_backward_again", "input", input, out);
  const DeviceCall call("gelu_backward_again", out);
  call.ops().gelu_backward_again(array_of(out), array_of(gradient), array_of(input), call.context());
}

void gelu_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& input) {
  if (is_on_cpu("gelu_backward", input_gradient, out_gradient, input)) {
    return cpu::gelu_backward(input_gradient, write, out_gradient, input);
  }
  require_like("gelu_backward", "out gradient", out_gradient, input_gradient);
  require_like("gelu_backward", "input", input, input_gradient);
  const DeviceCall call("gelu_backward", input);
  call.ops().gelu_backward(array_of(input_gradient), write, array_of(out_gradient), array_of(input), call.context());
}

}  // namespace lockstep::kernels
