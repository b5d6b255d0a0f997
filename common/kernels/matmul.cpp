#include "kernels/matmul.hpp"

#include "kernels/cpu/ops.hpp"
#include "kernels/device_call.hpp"

namespace lockstep::kernels {

namespace {

Transpose flipped(Transpose transpose) { return transpose == Transpose::kNo ? Transpose::kYes : Transpose::kNo; }

// bfloat16 operands give float32 or bfloat16, float32 ones float32.
bool is_product_type(const Tensor& out, const Tensor& a, const Tensor& b) {
  const bool is_bfloat16 = a.dtype() == DType::kBFloat16 && out.dtype() == DType::kBFloat16;
  return a.dtype() == b.dtype() && (out.dtype() == DType::kFloat32 || is_bfloat16) &&
         (a.dtype() == DType::kFloat32 || a.dtype() == DType::kBFloat16);
}

void device_matmul(std::string_view operation, const Tensor& out, const Tensor& a, Transpose a_transpose,
                   const Tensor& b, Transpose b_transpose, const Tensor& bias, Write write) {
  const bool a_flipped = a_transpose == Transpose::kYes, b_flipped = b_transpose == Transpose::kYes;
  const bool is_fitting = (a_flipped ? rows_of(a) : columns_of(a)) == (b_flipped ? columns_of(b) : rows_of(b)) &&
                          rows_of(out) == (a_flipped ? columns_of(a) : rows_of(a)) &&
                          columns_of(out) == (b_flipped ? rows_of(b) : columns_of(b));
  require(is_fitting && is_product_type(out, a, b), operation, ": ", a.dtype(), " ", a.shape(), a_flipped ? "^T" : "",
          " times ", b.dtype(), " ", b.shape(), b_flipped ? "^T" : "", " does not fit ", out.dtype(), " ", out.shape());
  if (bias.is_defined()) require_count(operation, "bias", bias, columns_of(out), DType::kFloat32);
  const DeviceCall call(operation, a);
  call.ops().matmul(array_of(out), array_of(a), a_transpose, array_of(b), b_transpose, array_of(bias), write,
                    call.context());
}

}  // namespace

void matmul(const Tensor& out, const Tensor& a, Transpose a_transpose, const Tensor& b, Transpose b_transpose,
            Write write) {
  if (is_on_cpu("matmul", out, a, b)) return cpu::matmul(out, a, a_transpose, b, b_transpose, write);
  device_matmul("matmul", out, a, a_transpose, b, b_transpose, Tensor(), write);
}

void linear_forward(const Tensor& out, const Tensor& input, const Tensor& weight, Transpose weight_transpose,
                    const Tensor& bias) {
  if (is_on_cpu("linear_forward", out, input, weight, bias)) {
    return cpu::linear_forward(out, input, weight, weight_transpose, bias);
  }
  device_matmul("linear_forward", out, input, Transpose::kNo, weight, weight_transpose, bias, Write::kOverwrite);
}

void linear_input_gradient(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& weight,
                           Transpose weight_transpose) {
  matmul(input_gradient, out_gradient, Transpose::kNo, weight, flipped(weight_transpose), write);
}

void linear_weight_gradient(const Tensor& weight_gradient, Write write, const Tensor& input, const Tensor& out_gradient,
                            Transpose weight_transpose) {
  if (weight_transpose == Transpose::kNo) {
    matmul(weight_gradient, input, Transpose::kYes, out_gradient, Transpose::kNo, write);
  } else {
    matmul(weight_gradient, out_gradient, Transpose::kYes, input, Transpose::kNo, write);
  }
}

void bias_gradient(const Tensor& bias_gradient, Write write, const Tensor& out_gradient) {
  if (is_on_cpu("bias_gradient", bias_gradient, out_gradient)) {
    return cpu::bias_gradient(bias_gradient, write, out_gradient);
  }
  require_count("bias_gradient", "bias gradient", bias_gradient, columns_of(out_gradient), DType::kFloat32);
  const DeviceCall call("bias_gradient", out_gradient);
  call.ops().bias_gradient(array_of(bias_gradient), write, array_of(out_gradient), call.context());
}

}  // namespace lockstep::kernels
