#include "08_accelerate/prepared/dealt_rows.hpp"

#include <vector>

namespace lockstep::accelerate {
namespace {

Shape with_rows(const Shape& shape, std::int64_t rows) {
  std::vector<std::int64_t> dimensions(shape.dimensions().begin(), shape.dimensions().end());
  dimensions.front() = rows;
  return Shape(dimensions);
}

}  // namespace

Tensor padded(const Tensor& tensor, std::int64_t rows) {
  if (tensor.shape()[0] == rows) return tensor;
  const Tensor longer = Tensor::zeros(with_rows(tensor.shape(), rows), tensor.dtype(), tensor.device());
  longer.rows(0, tensor.shape()[0]).copy_from(tensor);
  return longer;
}

Tensor in_order_of_positions(const Tensor& gathered, int world_size, std::int64_t count) {
  const std::int64_t rows_of_each = gathered.shape()[0] / world_size;
  const Tensor result = Tensor::empty(with_rows(gathered.shape(), count), gathered.dtype(), gathered.device());
  for (std::int64_t position = 0; position < count; ++position) {
    const std::int64_t row = position % world_size * rows_of_each + position / world_size;
    result.rows(position, position + 1).copy_from(gathered.rows(row, row + 1));
  }
  return result;
}

}  // namespace lockstep::accelerate
