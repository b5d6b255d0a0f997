// Parts and rearrangements of a variable's elements.
#include "kernels/views.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "autograd/node.hpp"
#include "autograd/primitives.hpp"
#include "base/error.hpp"

namespace lockstep::autograd {
namespace {

int index_of(const Shape& shape, int axis) {
  (void)shape[axis];  // throws if there is no such axis
  return axis < 0 ? axis + shape.rank() : axis;
}

// `shape` with `size` for dimension `axis`.
Shape resized(const Shape& shape, int axis, std::int64_t size) {
  std::array<std::int64_t, Shape::kMaxRank> dimensions{};
  std::ranges::copy(shape.dimensions(), dimensions.begin());
  dimensions[static_cast<std::size_t>(index_of(shape, axis))] = size;
  return Shape(std::span<const std::int64_t>(dimensions.data(), static_cast<std::size_t>(shape.rank())));
}

// A copy of the elements in `from`.
Tensor copied(const Tensor& input, const Shape& shape, const kernels::StridedView& from) {
  Tensor output = Tensor::empty(shape, input.dtype(), input.device());
  kernels::copy_view(output, kernels::view_of(shape), GradientWrite::kOverwrite, input, from);
  return output;
}

// Adds `d_part` to the part of the input's gradient that `view` selects.
void add_to_part(const Variable& input, const kernels::StridedView& view, const Tensor& d_part) {
  const auto [d_input, write] = input.begin_gradient_write();
  if (write == GradientWrite::kOverwrite) d_input.fill_zero();
  kernels::copy_view(d_input, view, GradientWrite::kAdd, d_part, kernels::view_of(d_part.shape()));
}

}  // namespace

Variable reshape(const Variable& input, const Shape& shape) {
  return record(input.value().reshape(shape), {input}, [input = input.without_value()](Tensor d_output) {
    input.accumulate_gradient(std::move(d_output));  // takes its own shape
  });
}

Variable transpose(const Variable& input, int axis0, int axis1) {
  const Tensor& x = input.value();
  const Shape shape = resized(resized(x.shape(), axis0, x.shape()[axis1]), axis1, x.shape()[axis0]);
  return record(copied(x, shape, kernels::transposed_view(x.shape(), axis0, axis1)), {input},
                [input = input.without_value(), axis0, axis1, from = x.shape()](const Tensor& d_output) {
                  const auto back = kernels::transposed_view(d_output.shape(), axis0, axis1);
                  const auto [d_input, write] = input.begin_gradient_write();
                  kernels::copy_view(d_input, kernels::view_of(from), write, d_output, back);
                });
}

Variable narrow(const Variable& input, int axis, std::int64_t begin, std::int64_t length) {
  const Tensor& x = input.value();
  const auto view = kernels::narrowed_view(x.shape(), axis, begin, length);
  Tensor part = index_of(x.shape(), axis) == 0 ? x.rows(begin, begin + length)
                                               : copied(x, resized(x.shape(), axis, length), view);
  return record(std::move(part), {input},
                [input = input.without_value(), view](const Tensor& d_part) { add_to_part(input, view, d_part); });
}

Variable cat(std::span<const Variable> inputs, int axis) {
  require(!inputs.empty(), "autograd: cat() of nothing");
  const Tensor& first = inputs.front().value();
  std::int64_t size = 0;
  for (const Variable& input : inputs) {
    const Tensor& x = input.value();
    const bool is_fitting = x.shape().rank() == first.shape().rank() && x.dtype() == first.dtype() &&
                            resized(x.shape(), axis, 1) == resized(first.shape(), axis, 1);
    require(is_fitting, "autograd: cat() along dimension ", axis, " of ", first.dtype(), " ", first.shape(), " and ",
            x.dtype(), " ", x.shape());
    size += x.shape()[axis];
  }
  const Tensor output = Tensor::empty(resized(first.shape(), axis, size), first.dtype(), first.device());
  std::vector<std::pair<Variable, kernels::StridedView>> parts;  // with their positions in the output
  std::int64_t begin = 0;
  for (const Variable& input : inputs) {
    const Tensor& x = input.value();
    const auto place = kernels::narrowed_view(output.shape(), axis, begin, x.shape()[axis]);
    kernels::copy_view(output, place, GradientWrite::kOverwrite, x, kernels::view_of(x.shape()));
    parts.emplace_back(input.without_value(), place);
    begin += x.shape()[axis];
  }
  return record(output, inputs, [parts = std::move(parts)](const Tensor& d_output) {
    for (const auto& [input, place] : parts) {
      if (!input.requires_grad()) continue;
      const auto [d_input, write] = input.begin_gradient_write();
      kernels::copy_view(d_input, kernels::view_of(d_input.shape()), write, d_output, place);
    }
  });
}

}  // namespace lockstep::autograd
