#include "kernels/views.hpp"

#include <algorithm>

#include "kernels/call.hpp"

namespace lockstep::kernels {

namespace {

// The index of dimension `axis` among a view's four dimensions.
std::size_t place_of(const Shape& shape, int axis) {
  const int index = axis < 0 ? axis + shape.rank() : axis;
  require(index >= 0 && index < shape.rank(), "axis ", axis, " of a tensor of shape ", shape);
  return static_cast<std::size_t>(Shape::kMaxRank - shape.rank() + index);
}

void require_inside(std::string_view what, const Tensor& tensor, const StridedView& view) {
  std::int64_t last = view.offset;
  for (int axis = 0; axis < Shape::kMaxRank; ++axis) last += (view.sizes[axis] - 1) * view.strides[axis];
  require(view.count() == 0 || (view.offset >= 0 && last < tensor.count()), "copy_view: a view of ", what,
          " reaches element ", last, " of ", tensor.shape());
}

void require_types(const Call& call, const Tensor& out, const Tensor& a, const Tensor& b) {
  require(a.is_defined() && b.is_defined() && a.dtype() == out.dtype() && b.dtype() == out.dtype(), call.operation(),
          ": ", a.dtype(), " ", a.shape(), " and ", b.dtype(), " ", b.shape(), " do not fit ", out.dtype(), " ",
          out.shape());
}

}  // namespace

StridedView view_of(const Shape& shape) {
  StridedView view;
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const std::size_t place = place_of(shape, axis);
    view.sizes[place] = shape[axis];
    view.strides[place] = stride;
    stride *= shape[axis];
  }
  return view;
}

StridedView narrowed_view(const Shape& shape, int axis, std::int64_t begin, std::int64_t length) {
  const std::size_t place = place_of(shape, axis);
  StridedView view = view_of(shape);
  require(begin >= 0 && length >= 0 && begin + length <= view.sizes[place], "elements [", begin, ", ", begin + length,
          ") of dimension ", axis, " of shape ", shape);
  view.offset = begin * view.strides[place];
  view.sizes[place] = length;
  return view;
}

StridedView transposed_view(const Shape& shape, int axis0, int axis1) {
  const std::size_t first = place_of(shape, axis0), second = place_of(shape, axis1);
  StridedView view = view_of(shape);
  std::swap(view.sizes[first], view.sizes[second]);
  std::swap(view.strides[first], view.strides[second]);
  return view;
}

StridedView broadcast_view(const Shape& from, const Shape& to) {
  StridedView view = view_of(from);
  const StridedView target = view_of(to);
  bool is_fitting = from.rank() <= to.rank();
  for (std::size_t place = 0; place < Shape::kMaxRank; ++place) {
    if (view.sizes[place] == target.sizes[place]) continue;
    is_fitting = is_fitting && view.sizes[place] == 1;
    view.strides[place] = 0;
    view.sizes[place] = target.sizes[place];
  }
  require(is_fitting, "shape ", from, " cannot be repeated to ", to,
          ": from the last dimension on, sizes must be equal or 1");
  return view;
}

void copy_view(const Tensor& out, const StridedView& to, Write write, const Tensor& input, const StridedView& from) {
  const Call call("copy_view", out, input);
  require_types(call, out, input, input);
  require(std::ranges::equal(to.sizes, from.sizes), "copy_view: a view of ", input.shape(), " and one of ", out.shape(),
          " have different sizes");
  require_inside("the input", input, from);
  require_inside("the output", out, to);
  call.run(&Operations::copy_view, out, to, write, input, from);
}

void add_broadcast(const Tensor& out, const Tensor& a, const Tensor& b) {
  const Call call("add_broadcast", out, a, b);
  require_types(call, out, a, b);
  call.run(&Operations::add_broadcast, out, a, broadcast_view(a.shape(), out.shape()), b,
           broadcast_view(b.shape(), out.shape()));
}

void multiply(const Tensor& out, Write write, const Tensor& a, const Tensor& b) {
  const Call call("multiply", out, a, b);
  require_types(call, out, a, b);
  call.run(&Operations::multiply, out, write, a, broadcast_view(a.shape(), out.shape()), b,
           broadcast_view(b.shape(), out.shape()));
}

void sum_axis(const Tensor& out, Write write, const Tensor& input, int axis) {
  const Call call("sum_axis", out, input);
  const std::size_t place = place_of(input.shape(), axis);
  const StridedView view = view_of(input.shape());
  std::int64_t outer = 1;
  for (std::size_t before = 0; before < place; ++before) outer *= view.sizes[before];
  const SumSizes sizes{.outer = outer, .count = view.sizes[place], .inner = view.strides[place]};
  call.require_count("the output", out, sizes.outer * sizes.inner, input.dtype());
  call.run(&Operations::sum_axis, out, write, input, sizes);
}

}  // namespace lockstep::kernels
