#include "kernels/elementwise.hpp"

#include "kernels/call.hpp"

namespace lockstep::kernels {

void fill(const Tensor& out, double value) {
  const Call call(Types::kWide, "fill", out);
  call.run(&Operations::fill, out, value);
}

void copy(const Tensor& out, const Tensor& input) {
  const Call call(Types::kAll, "copy", out, input);
  call.require_like("input", input, out);
  call.run(&Operations::copy, out, input);
}

void cast(const Tensor& out, const Tensor& input) {
  if (out.dtype() == input.dtype()) return copy(out, input);
  const Call call(Types::kAll, "cast", out, input);
  const bool is_widening = is_reduced_float(input.dtype()) && out.dtype() == DType::kFloat32;
  const bool is_narrowing = input.dtype() == DType::kFloat32 && is_reduced_float(out.dtype());
  require(input.is_defined() && (is_widening || is_narrowing) && input.count() == out.count(), "cast: ", input.dtype(),
          " ", input.shape(), " cannot become ", out.dtype(), " ", out.shape());
  call.run(&Operations::cast, out, input);
}

void add(const Tensor& out, const Tensor& a, const Tensor& b) {
  const Call call("add", out, a, b);
  call.require_like("a", a, out);
  call.require_like("b", b, out);
  call.run(&Operations::add, out, a, b);
}

void add_scaled(const Tensor& out, double factor, const Tensor& input) {
  const Call call("add_scaled", out, input);
  call.require_like("input", input, out);
  call.run(&Operations::add_scaled, out, factor, input);
}

void scale(const Tensor& out, double factor) {
  const Call call("scale", out);
  call.run(&Operations::scale, out, factor);
}

void add_bias(const Tensor& out, const Tensor& input, const Tensor& bias) {
  const Call call(Types::kWide, "add_bias", out, input, bias);
  call.require_like("input", input, out);
  call.require_count("bias", bias, columns_of(out), out.dtype());
  call.run(&Operations::add_bias, out, input, bias);
}

void relu_forward(const Tensor& out, const Tensor& input) {
  const Call call("relu_forward", out, input);
  call.require_like("input", input, out);
  call.run(&Operations::relu_forward, out, input);
}

void relu_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& out) {
  const Call call("relu_backward", input_gradient, out_gradient, out);
  call.require_like("out gradient", out_gradient, input_gradient);
  call.require_like("out", out, input_gradient);
  call.run(&Operations::relu_backward, input_gradient, write, out_gradient, out);
}

void exp_forward(const Tensor& out, const Tensor& input) {
  const Call call("exp_forward", out, input);
  call.require_like("input", input, out);
  call.run(&Operations::exp_forward, out, input);
}

void silu_forward(const Tensor& out, const Tensor& input) {
  const Call call("silu_forward", out, input);
  call.require_like("input", input, out);
  call.run(&Operations::silu_forward, out, input);
}

void silu_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& input) {
  const Call call("silu_backward", input_gradient, out_gradient, input);
  call.require_like("out gradient", out_gradient, input_gradient);
  call.require_like("input", input, input_gradient);
  call.run(&Operations::silu_backward, input_gradient, write, out_gradient, input);
}

void gelu_forward(const Tensor& out, const Tensor& input) {
  const Call call("gelu_forward", out, input);
  call.require_like("input", input, out);
  call.run(&Operations::gelu_forward, out, input);
}

void gelu_backward_again(const Tensor& out, const Tensor& gradient, const Tensor& input) {
  const Call call("gelu_backward_again", out, gradient, input);
  call.require_like("gradient", gradient, out);
  call.require_like("input", input, out);
  call.run(&Operations::gelu_backward_again, out, gradient, input);
}

void gelu_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& input) {
  const Call call("gelu_backward", input_gradient, out_gradient, input);
  call.require_like("out gradient", out_gradient, input_gradient);
  call.require_like("input", input, input_gradient);
  call.run(&Operations::gelu_backward, input_gradient, write, out_gradient, input);
}

}  // namespace lockstep::kernels
