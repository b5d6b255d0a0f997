#pragma once
/// @file
/// Datasets: numbered samples of equal shape, and how several of them become one batch.
#include <cstdint>
#include <span>

#include "tensor/tensor.hpp"

namespace lockstep::data {

/// Samples stacked for one step, in host memory.
struct Batch {
  Tensor inputs;      ///< [B, ...]; [B, T] int32 for tokens.
  Tensor targets;     ///< [B, ...]; [B, T] int32 for tokens.
  Tensor sample_ids;  ///< [B] int64, each sample's number in the whole dataset: the same on any number of ranks.

  /// B, the number of samples.
  [[nodiscard]] std::int64_t size() const noexcept { return sample_ids.count(); }
};

/// A fixed number of samples, each found by its number. Thread safety: const calls from any thread at once.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// Number of samples.
  [[nodiscard]] virtual std::int64_t size() const noexcept = 0;

  /// Stacks samples.
  /// @param indices  Numbers in [0, size()), in the order wanted; may be empty and may repeat.
  /// @throws ContractError  A number out of range.
  /// @cost  Copies the samples once.
  [[nodiscard]] virtual Batch batch(std::span<const std::int64_t> indices) const = 0;
};

}  // namespace lockstep::data
