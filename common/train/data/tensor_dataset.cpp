#include "data/tensor_dataset.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"

namespace lockstep::data {

namespace {

Tensor gather_rows(const Tensor& source, std::span<const std::int64_t> indices) {
  const std::span<const std::int64_t> dimensions = source.shape().dimensions();
  std::vector<std::int64_t> sizes(dimensions.begin(), dimensions.end());
  const std::int64_t row_count = sizes[0];
  sizes[0] = static_cast<std::int64_t>(indices.size());
  Tensor rows = Tensor::empty(Shape(sizes), source.dtype());
  const std::int64_t row_bytes = source.bytes() / std::max<std::int64_t>(row_count, 1);
  const auto* from = static_cast<const std::byte*>(source.data());
  auto* to = static_cast<std::byte*>(rows.data());
  for (const std::int64_t index : indices) {
    require(index >= 0 && index < row_count, "sample ", index, " of a dataset of ", row_count, " samples");
    to = std::copy_n(from + index * row_bytes, row_bytes, to);
  }
  return rows;
}

}  // namespace

TensorDataset::TensorDataset(Tensor features, Tensor targets)
    : features_(std::move(features)), targets_(std::move(targets)) {
  require(features_.is_defined() && targets_.is_defined() && features_.shape().rank() >= 1 &&
              targets_.shape().rank() >= 1 && features_.shape()[0] == targets_.shape()[0],
          "features ", features_.shape(), " and targets ", targets_.shape(), " do not have the same number of rows");
  require(features_.device().is_cpu() && targets_.device().is_cpu(), "a TensorDataset holds host tensors");
}

Batch TensorDataset::batch(std::span<const std::int64_t> indices) const {
  return {.inputs = gather_rows(features_, indices),
          .targets = gather_rows(targets_, indices),
          .sample_ids = Tensor::from(indices, {static_cast<std::int64_t>(indices.size())})};
}

}  // namespace lockstep::data
