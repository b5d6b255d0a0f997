// Products, sums, and the other operations of a LLaMA-style block.
#include "autograd/primitives.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "autograd/autocast.hpp"
#include "autograd/broadcast.hpp"
#include "autograd/functions.hpp"
#include "autograd/in_place.hpp"
#include "autograd/node.hpp"
#include "base/error.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/loss.hpp"
#include "kernels/matmul.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/rotary.hpp"
#include "kernels/softmax.hpp"
#include "kernels/views.hpp"

namespace lockstep::autograd {
namespace {

using kernels::Transpose;

Tensor empty_like(const Tensor& tensor) { return Tensor::empty(tensor.shape(), tensor.dtype(), tensor.device()); }

// The gradient of one factor of a product: d_product * other, summed over broadcast dimensions.
void add_factor_gradient(const Variable& factor, const Tensor& d_product, const Tensor& other) {
  if (!factor.requires_grad()) return;
  if (factor.node()->shape == d_product.shape()) {
    const auto [d_factor, write] = factor.begin_gradient_write();
    return kernels::multiply(d_factor, write, d_product, other);
  }
  Tensor d_repeated = empty_like(d_product);
  kernels::multiply(d_repeated, GradientWrite::kOverwrite, d_product, other);
  factor.accumulate_gradient(sum_to(std::move(d_repeated), factor.node()->shape));
}

void add_product_gradient(const Variable& operand, const Tensor& a, Transpose a_transpose, const Tensor& b,
                          Transpose b_transpose) {
  if (!operand.requires_grad()) return;
  const auto [d_operand, write] = operand.begin_gradient_write();
  kernels::batched_matmul(d_operand, a, a_transpose, b, b_transpose, write);
}

// The first of softmax([x, 0]), which is e^x / (e^x + 1), without an overflow.
Tensor sigmoid_of(const Tensor& x) {
  const Shape column{x.count(), 1};
  const Tensor pairs = Tensor::zeros({x.count(), 2}, x.dtype(), x.device()), sigmoids = empty_like(x);
  const auto firsts = kernels::narrowed_view(pairs.shape(), 1, 0, 1);
  kernels::copy_view(pairs, firsts, GradientWrite::kOverwrite, x, kernels::view_of(column));
  kernels::softmax_forward(pairs, pairs);
  kernels::copy_view(sigmoids, kernels::view_of(column), GradientWrite::kOverwrite, pairs, firsts);
  return sigmoids;
}

enum class Factor { kOutput, kOnePlusOutput };

// Adds d_output * factor * (1 - output) to the input's gradient.
void add_saturating_gradient(const Variable& input, const Tensor& d_output, const Tensor& output, Factor factor) {
  Tensor d_input = empty_like(output);
  const Tensor subtracted = empty_like(output);
  kernels::multiply(d_input, GradientWrite::kOverwrite, d_output, output);
  if (factor == Factor::kOnePlusOutput) kernels::add(d_input, d_input, d_output);
  kernels::multiply(subtracted, GradientWrite::kOverwrite, d_input, output);
  kernels::add_scaled(d_input, -1.0, subtracted);
  input.accumulate_gradient(std::move(d_input));
}

double reciprocal(std::int64_t count) {
  require(count > 0, "autograd: mean() over no elements");
  return 1.0 / static_cast<double>(count);
}

}  // namespace

Variable matmul(const Variable& given_a, const Variable& given_b) {
  const Shape &left = given_a.shape(), &right = given_b.shape();
  require(left.rank() >= 2 && right.rank() >= 2, "autograd: matmul() needs matrices, not ", left, " and ", right);
  if (right.rank() == 2) return conv1d(given_a, given_b, {});
  const Variable a = product_operand(given_a), b = product_operand(given_b);
  std::array<std::int64_t, Shape::kMaxRank> dimensions{};
  std::ranges::copy(left.dimensions(), dimensions.begin());
  const auto rank = static_cast<std::size_t>(left.rank());
  dimensions[rank - 1] = right[-1];
  const Shape shape(std::span<const std::int64_t>(dimensions.data(), rank));  // [..., M, N]
  const Tensor left_value = a.value(), right_value = b.value();
  const Tensor output = Tensor::empty(shape, left_value.dtype(), left_value.device());
  kernels::batched_matmul(output, left_value, Transpose::kNo, right_value, Transpose::kNo);
  return record(output, {a, b}, [a, b](const Tensor& d_output) {
    add_product_gradient(a, d_output, Transpose::kNo, b.value(), Transpose::kYes);
    add_product_gradient(b, a.value(), Transpose::kYes, d_output, Transpose::kNo);
  });
}

Variable mul(const Variable& given_a, const Variable& given_b) {
  const auto [a, b] = with_common_type(given_a, given_b);
  const Tensor left = a.value(), right = b.value();
  const Tensor product = empty_broadcast(left, right);
  kernels::multiply(product, GradientWrite::kOverwrite, left, right);
  return record(product, {a, b}, [a = a, b = b](const Tensor& d_product) {
    add_factor_gradient(a, d_product, b.value());
    add_factor_gradient(b, d_product, a.value());
  });
}

Variable mul(Variable input, double factor) {
  Tensor output = output_for(input);
  if (output.const_data() != input.value().const_data()) kernels::copy(output, input.value());
  kernels::scale(output, factor);
  return record(std::move(output), {input}, [input = input.without_value(), factor](const Tensor& d_output) {
    write_elementwise_gradient(input, d_output, [&](const Tensor& d_input, GradientWrite write) {
      if (write == GradientWrite::kAdd) return kernels::add_scaled(d_input, factor, d_output);
      if (d_input.const_data() != d_output.const_data()) kernels::copy(d_input, d_output);
      kernels::scale(d_input, factor);
    });
  });
}

Variable exp(Variable input) {
  Tensor output = output_for(input);
  kernels::exp_forward(output, input.value());
  return record(output, {input}, [input = input.without_value(), output](const Tensor& d_output) {
    write_elementwise_gradient(input, d_output, [&](const Tensor& d_input, GradientWrite write) {
      kernels::multiply(d_input, write, d_output, output);
    });
  });
}

Variable sum(const Variable& given) {
  const Variable input = cast(given, kernels::accumulation_dtype(given.value().dtype()));
  const Tensor& x = input.value();
  const double total = kernels::sum(x);
  const auto rounded = static_cast<float>(total);
  Tensor output = x.dtype() == DType::kFloat64 ? Tensor::from<double>(std::span(&total, 1), {})
                                               : Tensor::from<float>(std::span(&rounded, 1), {});
  return record(std::move(output), {input}, [input = input.without_value()](const Tensor& d_output) {
    const Variable::Node& node = *input.node();
    Tensor d_input = Tensor::empty(node.shape, node.dtype, node.device);
    kernels::fill(d_input, d_output.item());
    input.accumulate_gradient(std::move(d_input));
  });
}

Variable sum(const Variable& input, int axis, KeepAxis keep) {
  const Tensor& x = input.value();
  std::vector<std::int64_t> kept(x.shape().dimensions().begin(), x.shape().dimensions().end());
  const auto place = kept.begin() + (axis < 0 ? axis + x.shape().rank() : axis);
  require(axis >= -x.shape().rank() && axis < x.shape().rank(), "autograd: sum() over dimension ", axis, " of ",
          x.shape());
  *place = 1;
  const Shape with_axis{std::span<const std::int64_t>(kept)};
  if (keep == KeepAxis::kNo) kept.erase(place);
  Tensor output = Tensor::empty(Shape(std::span<const std::int64_t>(kept)), x.dtype(), x.device());
  kernels::sum_axis(output, GradientWrite::kOverwrite, x, axis);
  return record(std::move(output), {input}, [input = input.without_value(), with_axis](const Tensor& d_output) {
    const auto [d_input, write] = input.begin_gradient_write();
    kernels::copy_view(d_input, kernels::view_of(d_input.shape()), write, d_output,
                       kernels::broadcast_view(with_axis, d_input.shape()));
  });
}

Variable mean(const Variable& input) { return mul(sum(input), reciprocal(input.value().count())); }

Variable mean(const Variable& input, int axis, KeepAxis keep) {
  return mul(sum(input, axis, keep), reciprocal(input.value().shape()[axis]));
}

Variable softmax(const Variable& input) {
  const Tensor output = empty_like(input.value());
  kernels::softmax_forward(output, input.value());
  return record(output, {input}, [input = input.without_value(), output](const Tensor& d_output) {
    write_elementwise_gradient(input, d_output, [&](const Tensor& d_input, GradientWrite write) {
      kernels::softmax_backward(d_input, write, d_output, output);
    });
  });
}

Variable sigmoid(const Variable& given) {
  const Variable input = cast(given, kernels::accumulation_dtype(given.dtype()));
  const Tensor output = sigmoid_of(input.value());
  const Variable result = record(output, {input}, [input = input.without_value(), output](const Tensor& d_output) {
    add_saturating_gradient(input, d_output, output, Factor::kOutput);
  });
  return cast(result, given.dtype());
}

Variable tanh(const Variable& given) {
  const Variable input = cast(given, kernels::accumulation_dtype(given.dtype()));
  const Tensor& x = input.value();
  const Tensor doubled = empty_like(x);
  kernels::add(doubled, x, x);
  const Tensor output = sigmoid_of(doubled);  // tanh(x) = 2 sigmoid(2x) - 1
  kernels::scale(output, 2.0);
  kernels::add_broadcast(output, output, Tensor::full({}, -1, x.dtype(), x.device()));
  const Variable result = record(output, {input}, [input = input.without_value(), output](const Tensor& d_output) {
    add_saturating_gradient(input, d_output, output, Factor::kOnePlusOutput);
  });
  return cast(result, given.dtype());
}

Variable silu(const Variable& input) {
  const Tensor output = empty_like(input.value());
  kernels::silu_forward(output, input.value());
  return record(output, {input}, [input](const Tensor& d_output) {
    write_elementwise_gradient(input, d_output, [&](const Tensor& d_input, GradientWrite write) {
      kernels::silu_backward(d_input, write, d_output, input.value());
    });
  });
}

Variable rms_norm(const Variable& input, const Variable& weight, double epsilon) {
  const Tensor x = input.value(), w = weight.value();  // [..., C], [C]
  const Tensor output = empty_like(x);
  const std::int64_t rows = x.count() == 0 ? 0 : x.count() / x.shape()[-1];
  const Tensor factors = Tensor::empty({rows}, kernels::accumulation_dtype(x.dtype()), x.device());
  kernels::rms_norm_forward(output, factors, x, w, epsilon);
  return record(output, {input, weight}, [input, weight, factors](const Tensor& d_output) {
    Tensor d_weight;
    GradientWrite weight_write = GradientWrite::kOverwrite;
    if (weight.requires_grad()) std::tie(d_weight, weight_write) = weight.begin_gradient_write();
    const auto run = [&](const Tensor& d_input, GradientWrite write) {
      const Tensor value = input.value(), gain = weight.value();
      kernels::rms_norm_backward(d_input, write, d_weight, weight_write, d_output, factors, value, gain);
    };
    if (input.requires_grad() && !input.is_same(weight)) return write_elementwise_gradient(input, d_output, run);
    Tensor d_input = empty_like(d_output);  // the kernel writes both
    run(d_input, GradientWrite::kOverwrite);
    if (input.requires_grad()) input.accumulate_gradient(std::move(d_input));
  });
}

RotaryTable RotaryTable::make(std::int64_t positions, std::int64_t head_size, double base, DType dtype, Device device) {
  require(positions >= 0 && head_size > 0 && head_size % 2 == 0, "autograd: a rotary table for ", positions,
          " positions and heads of ", head_size, " elements; the size of a head must be even");
  const Shape shape{positions, head_size / 2};
  const auto filled = [&](double (*function)(double)) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < shape.count(); ++i) {
      const auto position = static_cast<double>(i / shape[1]), pair = static_cast<double>(i % shape[1]);
      values.push_back(function(position * std::pow(base, -2.0 * pair / static_cast<double>(head_size))));
    }
    if (dtype == DType::kFloat64) return Tensor::from<double>(values, shape, device);
    return Tensor::from<float>(std::vector<float>(values.begin(), values.end()), shape, device);
  };
  return {filled([](double angle) { return std::cos(angle); }), filled([](double angle) { return std::sin(angle); })};
}

Variable apply_rotary_pos_emb(const Variable& input, const RotaryTable& table) {
  const Tensor output = empty_like(input.value());
  kernels::rotary(output, GradientWrite::kOverwrite, input.value(), table.cos, table.sin, kernels::Rotation::kForward);
  return record(output, {input}, [input = input.without_value(), table](const Tensor& d_output) {
    write_elementwise_gradient(input, d_output, [&](const Tensor& d_input, GradientWrite write) {
      kernels::rotary(d_input, write, d_output, table.cos, table.sin, kernels::Rotation::kBackward);
    });
  });
}

}  // namespace lockstep::autograd
