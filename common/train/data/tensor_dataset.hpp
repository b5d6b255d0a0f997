#pragma once
/// @file
/// A dataset of tensors held in memory.
#include "data/dataset.hpp"

namespace lockstep::data {

/// Rows of two tensors: features and the targets to predict from them.
class TensorDataset final : public Dataset {
 public:
  /// @param features  [N, ...] on the host.
  /// @param targets   [N, ...] on the host.
  /// @throws ContractError  No first dimension, different N, or not on the host.
  TensorDataset(Tensor features, Tensor targets);

  [[nodiscard]] std::int64_t size() const noexcept override { return features_.shape()[0]; }
  [[nodiscard]] Batch batch(std::span<const std::int64_t> indices) const override;

 private:
  Tensor features_;
  Tensor targets_;
};

}  // namespace lockstep::data
