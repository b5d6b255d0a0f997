#pragma once
/// @file
/// Datasets: numbered samples of equal shape, and stacking them into batches.
#include <cstdint>
#include <span>

#include "tensor/tensor.hpp"

namespace lockstep::data {

/// Samples stacked for one step, in host memory.
struct Batch {
  Tensor inputs;      ///< [B, ...]; [B, T] int32 for tokens.
  Tensor targets;     ///< [B, ...]; [B, T] int32 for tokens.
  Tensor sample_ids;  ///< [B] int64, indices into the whole dataset: the same on any number of ranks.

  [[nodiscard]] std::int64_t size() const noexcept { return sample_ids.count(); }
};

/// A fixed number of samples, found by index. Thread safety: const calls from any thread at once.
class Dataset {
 public:
  virtual ~Dataset() = default;

  [[nodiscard]] virtual std::int64_t size() const noexcept = 0;

  /// Stacks samples.
  /// @param indices  In [0, size()), in any order; may be empty and may repeat.
  /// @throws ContractError  An index is out of range.
  /// @cost  Copies the samples once.
  [[nodiscard]] virtual Batch batch(std::span<const std::int64_t> indices) const = 0;

  /// Stacks samples as they are in one epoch. This is the same as batch(), unless the dataset draws new samples for
  /// each epoch; then batch() gives those of epoch 0. A DataLoader calls this one, with its sampler's epoch.
  /// @param indices  As for batch(). @param epoch  At least 0.
  /// @throws ContractError  As batch().
  [[nodiscard]] virtual Batch batch_of_epoch(std::span<const std::int64_t> indices, std::int64_t epoch) const {
    (void)epoch;
    return batch(indices);
  }
};

}  // namespace lockstep::data
