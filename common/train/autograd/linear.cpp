// Fully connected layers, in both layouts of the weight.
#include "autograd/autocast.hpp"
#include "autograd/functions.hpp"
#include "autograd/in_place.hpp"
#include "autograd/node.hpp"
#include "base/error.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/matmul.hpp"

namespace lockstep::autograd {
namespace {

Shape replace_last(const Shape& shape, std::int64_t last) {
  require(shape.rank() >= 1, "autograd: a layer's input needs at least one dimension");
  std::array<std::int64_t, Shape::kMaxRank> dimensions{};
  const auto old = shape.dimensions();
  std::copy(old.begin(), old.end(), dimensions.begin());
  dimensions[old.size() - 1] = last;
  return Shape(std::span<const std::int64_t>(dimensions.data(), old.size()));
}

void add_bias_gradient(const Variable& bias, const Tensor& d_output) {
  if (!bias.requires_grad()) return;
  const auto [d_bias, write] = bias.begin_gradient_write();
  kernels::bias_gradient(d_bias, write, d_output);
}

Variable fully_connected(const Variable& given, const Variable& weight, const Variable& bias,
                         kernels::Transpose transpose) {
  const Variable input = product_operand(given);
  const Tensor x = input.value();                          // [..., in]
  const Tensor w = weight_for_product(weight, x.dtype());  // [in, out], or [out, in] with kYes
  require(w.shape().rank() == 2, "autograd: a layer's weight is a matrix, not ", w.shape());
  const std::int64_t outputs = w.shape()[transpose == kernels::Transpose::kYes ? 0 : 1];
  Tensor output = Tensor::empty(replace_last(x.shape(), outputs), w.dtype(), w.device());  // [..., out]
  kernels::linear_forward(output, x, w, transpose, bias.is_defined() ? bias.value() : Tensor());

  return record(output, {input, weight, bias},
                [input, weight = weight.without_value(), saved = SavedWeight(weight, w), bias = bias.without_value(),
                 transpose](const Tensor& d_output) {
                  if (input.requires_grad()) {
                    const auto [d_input, write] = input.begin_gradient_write();
                    kernels::linear_input_gradient(d_input, write, d_output, saved.get(), transpose);
                  }
                  if (weight.requires_grad()) {
                    const auto [d_weight, write] = weight.begin_gradient_write();
                    kernels::linear_weight_gradient(d_weight, write, input.value(), d_output, transpose);
                  }
                  if (bias.requires_grad()) {
                    const auto [d_bias, write] = bias.begin_gradient_write();
                    kernels::bias_gradient(d_bias, write, d_output);
                  }
                });
}

}  // namespace

Variable linear(const Variable& input, const Variable& weight, const Variable& bias) {
  return fully_connected(input, weight, bias, kernels::Transpose::kYes);
}

Variable conv1d(const Variable& input, const Variable& weight, const Variable& bias) {
  return fully_connected(input, weight, bias, kernels::Transpose::kNo);
}

Variable gelu_conv1d(const Variable& given, const Variable& weight, const Variable& bias) {
  const Variable input = product_operand(given);
  const Tensor x = input.value();                                                               // [..., in]
  const Tensor w = weight_for_product(weight, x.dtype());                                       // [in, out]
  Tensor output = Tensor::empty(replace_last(x.shape(), w.shape()[1]), w.dtype(), w.device());  // [..., out]
  {
    const Tensor activated = Tensor::empty(x.shape(), x.dtype(), x.device());  // [..., in]
    kernels::gelu_forward(activated, x);
    kernels::linear_forward(output, activated, w, kernels::Transpose::kNo, bias.is_defined() ? bias.value() : Tensor());
  }
  return record(output, {input, weight, bias},
                [input, weight = weight.without_value(), saved = SavedWeight(weight, w),
                 bias = bias.without_value()](const Tensor& d_output) {
                  const Tensor& wide = input.value();
                  const Tensor activated = output_for(input);  // [..., in]: nobody reads the input after this
                  Tensor d_input = Tensor::empty(wide.shape(), wide.dtype(), wide.device());
                  kernels::linear_input_gradient(d_input, GradientWrite::kOverwrite, d_output, saved.get(),
                                                 kernels::Transpose::kNo);
                  kernels::gelu_backward_again(activated, d_input, wide);
                  if (weight.requires_grad()) {
                    const auto [d_weight, write] = weight.begin_gradient_write();
                    kernels::linear_weight_gradient(d_weight, write, activated, d_output, kernels::Transpose::kNo);
                  }
                  add_bias_gradient(bias, d_output);
                  if (input.requires_grad()) input.accumulate_gradient(std::move(d_input));
                });
}

}  // namespace lockstep::autograd
