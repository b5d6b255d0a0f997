#include "autograd/broadcast.hpp"

#include <algorithm>
#include <array>

#include "autograd/autocast.hpp"
#include "kernels/views.hpp"

namespace lockstep::autograd {

std::pair<Variable, Variable> with_common_type(const Variable& a, const Variable& b) {
  const DType a_type = a.dtype(), b_type = b.dtype();
  if (a_type == b_type || a_type == DType::kFloat64 || b_type == DType::kFloat64) return {a, b};
  return {cast(a, kernels::accumulation_dtype(a_type)), cast(b, kernels::accumulation_dtype(b_type))};
}

Tensor empty_broadcast(const Tensor& a, const Tensor& b) {
  const Shape &left = a.shape(), &right = b.shape();
  const int rank = std::max(left.rank(), right.rank());
  std::array<std::int64_t, Shape::kMaxRank> dimensions{};
  for (int axis = 1; axis <= rank; ++axis) {  // from the end
    const std::int64_t from_left = axis <= left.rank() ? left[-axis] : 1;
    const std::int64_t from_right = axis <= right.rank() ? right[-axis] : 1;
    dimensions[static_cast<std::size_t>(rank - axis)] = from_left == 1 ? from_right : from_left;
  }
  const Shape shape(std::span<const std::int64_t>(dimensions.data(), static_cast<std::size_t>(rank)));
  return Tensor::empty(shape, a.dtype(), a.device());
}

Tensor sum_to(Tensor gradient, const Shape& shape) {
  const kernels::StridedView large = kernels::view_of(gradient.shape()), small = kernels::view_of(shape);
  gradient = gradient.reshape(Shape(large.sizes));
  for (int axis = 0; axis < Shape::kMaxRank; ++axis) {
    if (large.sizes[axis] == small.sizes[axis]) continue;
    std::array<std::int64_t, Shape::kMaxRank> sizes{};
    std::ranges::copy(gradient.shape().dimensions(), sizes.begin());
    sizes[static_cast<std::size_t>(axis)] = 1;
    const Tensor sum = Tensor::empty(Shape(sizes), gradient.dtype(), gradient.device());
    kernels::sum_axis(sum, kernels::Write::kOverwrite, gradient, axis);
    gradient = sum;
  }
  return gradient.reshape(shape);
}

}  // namespace lockstep::autograd
