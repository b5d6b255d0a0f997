#include "kernels/views.hpp"

#include <algorithm>

#include "kernels/cpu/ops.hpp"
#include "kernels/device_call.hpp"

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

void require_types(std::string_view operation, const Tensor& out, const Tensor& a, const Tensor& b) {
  require(out.is_defined() && a.dtype() == out.dtype() && b.dtype() == out.dtype(), operation, ": ", a.dtype(), " ",
          a.shape(), " and ", b.dtype(), " ", b.shape(), " do not fit ", out.dtype(), " ", out.shape());
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
  const bool is_here = is_on_cpu("copy_view", out, input);
  require_types("copy_view", out, input, input);
  require(std::ranges::equal(to.sizes, from.sizes), "copy_view: a view of ", input.shape(), " and one of ", out.shape(),
          " have different sizes");
  require_inside("the input", input, from);
  require_inside("the output", out, to);
  if (is_here) return cpu::copy_view(out, to, write, input, from);
  const DeviceCall call("copy_view", out);
  call.ops().copy_view(array_of(out), to, write, array_to_read(input), from, call.context());
}

void add_broadcast(const Tensor& out, const Tensor& a, const Tensor& b) {
  const bool is_here = is_on_cpu("add_broadcast", out, a, b);
  require_types("add_broadcast", out, a, b);
  const StridedView a_view = broadcast_view(a.shape(), out.shape()), b_view = broadcast_view(b.shape(), out.shape());
  if (is_here) return cpu::add_broadcast(out, a, a_view, b, b_view);
  const DeviceCall call("add_broadcast", out);
  call.ops().add_broadcast(array_of(out), array_to_read(a), a_view, array_to_read(b), b_view, call.context());
}

void multiply(const Tensor& out, Write write, const Tensor& a, const Tensor& b) {
  const bool is_here = is_on_cpu("multiply", out, a, b);
  require_types("multiply", out, a, b);
  const StridedView a_view = broadcast_view(a.shape(), out.shape()), b_view = broadcast_view(b.shape(), out.shape());
  if (is_here) return cpu::multiply(out, write, a, a_view, b, b_view);
  const DeviceCall call("multiply", out);
  call.ops().multiply(array_of(out), write, array_to_read(a), a_view, array_to_read(b), b_view, call.context());
}

void sum_axis(const Tensor& out, Write write, const Tensor& input, int axis) {
  const bool is_here = is_on_cpu("sum_axis", out, input);
  const std::size_t place = place_of(input.shape(), axis);
  const StridedView view = view_of(input.shape());
  std::int64_t outer = 1;
  for (std::size_t before = 0; before < place; ++before) outer *= view.sizes[before];
  const SumSizes sizes{.outer = outer, .count = view.sizes[place], .inner = view.strides[place]};
  require_count("sum_axis", "the output", out, sizes.outer * sizes.inner, input.dtype());
  if (is_here) return cpu::sum_axis(out, write, input, sizes);
  const DeviceCall call("sum_axis", out);
  call.ops().sum_axis(array_of(out), write, array_to_read(input), sizes, call.context());
}

}  // namespace lockstep::kernels
