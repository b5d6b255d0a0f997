#include "kernels/matmul.hpp"

#include <algorithm>

#include "kernels/call.hpp"

namespace lockstep::kernels {

namespace {

Transpose flipped(Transpose transpose) { return transpose == Transpose::kNo ? Transpose::kYes : Transpose::kNo; }

void require_product(const Call& call, const Tensor& out, const Tensor& a, Transpose a_transpose, const Tensor& b,
                     Transpose b_transpose) {
  const bool a_flipped = a_transpose == Transpose::kYes, b_flipped = b_transpose == Transpose::kYes;
  const bool is_fitting = (a_flipped ? rows_of(a) : columns_of(a)) == (b_flipped ? columns_of(b) : rows_of(b)) &&
                          rows_of(out) == (a_flipped ? columns_of(a) : rows_of(a)) &&
                          columns_of(out) == (b_flipped ? rows_of(b) : columns_of(b));
  const bool is_product_type =  // 16-bit operands give float32 or their own type, others their own
      a.dtype() == b.dtype() && (out.dtype() == a.dtype() || out.dtype() == accumulation_dtype(a.dtype()));
  require(out.is_defined() && is_fitting && is_product_type, call.operation(), ": ", a.dtype(), " ", a.shape(),
          a_flipped ? "^T" : "", " times ", b.dtype(), " ", b.shape(), b_flipped ? "^T" : "", " does not fit ",
          out.dtype(), " ", out.shape());
}

void product(const Call& call, const Tensor& out, const Tensor& a, Transpose a_transpose, const Tensor& b,
             Transpose b_transpose, const Tensor& bias, Write write) {
  require_product(call, out, a, a_transpose, b, b_transpose);
  if (bias.is_defined()) call.require_count("bias", bias, columns_of(out), accumulation_dtype(a.dtype()));
  call.run(&Operations::matmul, out, a, a_transpose, b, b_transpose, bias, write);
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

// The first of `tensor`'s matrices.
Tensor first_matrix(const Tensor& tensor) {
  const std::int64_t rows = tensor.shape()[-2], columns = tensor.shape()[-1];
  return tensor.reshape({matrix_count(tensor) * rows, columns}).rows(0, rows);
}

}  // namespace

void matmul(const Tensor& out, const Tensor& a, Transpose a_transpose, const Tensor& b, Transpose b_transpose,
            Write write) {
  product(Call("matmul", a, out, b), out, a, a_transpose, b, b_transpose, Tensor(), write);
}

void batched_matmul(const Tensor& out, const Tensor& a, Transpose a_transpose, const Tensor& b, Transpose b_transpose,
                    Write write) {
  const Call call("batched_matmul", a, out, b);
  const std::int64_t matrices = matrix_count(a);
  require(has_same_leading_dimensions(a, b) && has_same_leading_dimensions(a, out), "batched_matmul: the leading ",
          "dimensions of ", a.shape(), " times ", b.shape(), " to ", out.shape(), " differ");
  if (matrices == 0) return;
  require_product(call, first_matrix(out), first_matrix(a), a_transpose, first_matrix(b), b_transpose);
  call.run(&Operations::batched_matmul, out, a, a_transpose, b, b_transpose, matrices, write);
}

void linear_forward(const Tensor& out, const Tensor& input, const Tensor& weight, Transpose weight_transpose,
                    const Tensor& bias) {
  product(Call("linear_forward", input, out, weight, bias), out, input, Transpose::kNo, weight, weight_transpose, bias,
          Write::kOverwrite);
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
  const Call call("bias_gradient", out_gradient, bias_gradient);
  call.require_count("bias gradient", bias_gradient, columns_of(out_gradient),
                     accumulation_dtype(out_gradient.dtype()));
  call.run(&Operations::bias_gradient, bias_gradient, write, out_gradient);
}

}  // namespace lockstep::kernels
