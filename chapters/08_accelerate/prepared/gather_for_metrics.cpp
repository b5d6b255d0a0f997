#include <vector>

#include "08_accelerate/accelerator.hpp"
#include "base/error.hpp"

namespace lockstep::accelerate {
namespace {

Shape with_rows(const Shape& shape, std::int64_t rows) {
  std::vector<std::int64_t> dimensions(shape.dimensions().begin(), shape.dimensions().end());
  dimensions.front() = rows;
  return Shape(dimensions);
}

// `tensor` with rows of zeros behind it.
Tensor padded(const Tensor& tensor, std::int64_t rows) {
  if (tensor.shape()[0] == rows) return tensor;
  const Tensor longer = Tensor::zeros(with_rows(tensor.shape(), rows), tensor.dtype(), tensor.device());
  longer.rows(0, tensor.shape()[0]).copy_from(tensor);
  return longer;
}

}  // namespace

// Position p of the global batch was dealt to rank p % P, as its row p / P.
Tensor Accelerator::gather_for_metrics(const Tensor& tensor) const {
  const OrderShard* const shard = gradient_state_->active();
  require(shard != nullptr,
          "gather_for_metrics: no prepared loader is being iterated, so nothing is known of the rows ",
          "that other ranks have; call it in the loop over a prepared loader, or call gather()");
  const std::int64_t expected = shard->samples_of(process_index());
  require(tensor.is_defined() && tensor.shape().rank() >= 1 && tensor.shape()[0] == expected,
          "gather_for_metrics: ", "the batch has ", expected,
          " samples on this rank, so a tensor of as many rows is expected");
  const std::int64_t each = shard->samples_of(0);  // rank 0 has most
  const Tensor all = gather(padded(tensor, each));
  const std::int64_t count = shard->real_samples();
  const Tensor result = Tensor::empty(with_rows(tensor.shape(), count), tensor.dtype(), tensor.device());
  for (std::int64_t position = 0; position < count; ++position) {
    const std::int64_t row = position % num_processes() * each + position / num_processes();
    result.rows(position, position + 1).copy_from(all.rows(row, row + 1));
  }
  return result;
}

}  // namespace lockstep::accelerate
