#include "kernels/matmul.hpp"

#include <algorithm>

#include "kernels/cpu/ops.hpp"
#include "kernels/device_call.hpp"

namespace lockstep::kernels {

namespace {

Transpose flipped(Transpose transpose) { return transpose == Transpose::kNo ? Transpose::kYes : Transpose::kNo; }

// 16-bit operands give float32 or their own type, float32 ones float32.
bool is_product_type(const Tensor& out, const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && (out.dtype() == DType::kFloat32 || out.dtype() == a.dtype()) &&
         (a.dtype() == DType::kFloat32 || is_reduced_float(a.dtype()));
}

void require_product(std::string_view operation, const Tensor& out, const Tensor& a, Transpose a_transpose,
                     const Tensor& b, Transpose b_transpose) {
  const bool a_flipped = a_transpose == Transpose::kYes, b_flipped = b_transpose == Transpose::kYes;
  const bool is_fitting = (a_flipped ? rows_of(a) : columns_of(a)) == (b_flipped ? columns_of(b) : rows_of(b)) &&
                          rows_of(out) == (a_flipped ? columns_of(a) : rows_of(a)) &&
                          columns_of(out) == (b_flipped ? rows_of(b) : columns_of(b));
  require(is_fitting && is_product_type(out, a, b), operation, ": ", a.dtype(), " ", a.shape(), a_flipped ? "^T" : "",
          " times ", b.dtype(), " ", b.shape(), b_flipped ? "^T" : "", " does not fit ", out.dtype(), " ", out.shape());
}

void device_matmul(std::string_view operation, const Tensor& out, const Tensor& a, Transpose a_transpose,
                   const Tensor& b, Transpose b_transpose, const Tensor& bias, Write write) {
  require_product(operation, out, a, a_transpose, b, b_transpose);
  if (bias.is_defined()) require_count(operation, "bias", bias, columns_of(out), DType::kFloat32);
  const DeviceCall call(operation, a);
  call.ops().matmul(array_of(out), array_of(a), a_transpose, array_of(b), b_transpose, array_of(bias), write,
                    call.context());
}

// The number of matrices in `tensor`, from its leading dimensions. @throws ContractError  It has no two dimensions.
std::int64_t matrix_count(const Tensor& tensor) {
  require(tensor.shape().rank() >= 2, "batched_matmul: ", tensor.shape(), " has no matrices");
  std::int64_t matrices = 1;
  for (int axis = 0; axis < tensor.shape().rank() - 2; ++axis) matrices *= tensor.shape()[axis];
  return matrices;
}

bool has_same_leading_dimensions(const Tensor& a, const Tensor& b) {
  const auto left = a.shape().dimensions(), right = b.shape().dimensions();
  return left.size() == right.size() && std::equal(left.begin(), left.end() - 2, right.begin());
}

// Matrix number `index` of `tensor`.
Tensor matrix_at(const Tensor& tensor, std::int64_t index) {
  const std::int64_t rows = tensor.shape()[-2], columns = tensor.shape()[-1];
  const Tensor all = tensor.reshape({matrix_count(tensor) * rows, columns});
  return all.rows(index * rows, (index + 1) * rows);
}

}  // namespace

void matmul(const Tensor& out, const Tensor& a, Transpose a_transpose, const Tensor& b, Transpose b_transpose,
            Write write) {
  if (is_on_cpu("matmul", out, a, b)) return cpu::matmul(out, a, a_transpose, b, b_transpose, write);
  device_matmul("matmul", out, a, a_transpose, b, b_transpose, Tensor(), write);
}

void batched_matmul(const Tensor& out, const Tensor& a, Transpose a_transpose, const Tensor& b, Transpose b_transpose,
                    Write write) {
  const bool is_here = is_on_cpu("batched_matmul", out, a, b);
  const std::int64_t matrices = matrix_count(a);
  require(has_same_leading_dimensions(a, b) && has_same_leading_dimensions(a, out), "batched_matmul: the leading ",
          "dimensions of ", a.shape(), " times ", b.shape(), " to ", out.shape(), " differ");
  if (matrices == 0) return;
  if (is_here) {
    for (std::int64_t i = 0; i < matrices; ++i) {
      cpu::matmul(matrix_at(out, i), matrix_at(a, i), a_transpose, matrix_at(b, i), b_transpose, write);
    }
    return;
  }
  require_product("batched_matmul", matrix_at(out, 0), matrix_at(a, 0), a_transpose, matrix_at(b, 0), b_transpose);
  const DeviceCall call("batched_matmul", a);
  call.ops().batched_matmul(array_of(out), array_to_read(a), a_transpose, array_to_read(b), b_transpose, matrices,
                            write, call.context());
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
