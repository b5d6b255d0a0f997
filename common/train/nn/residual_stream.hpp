#pragma once
/// @file
/// The sum that runs through a transformer, from block to block.
#include <span>
#include <vector>

#include "autograd/variable.hpp"
#include "nn/layers.hpp"

namespace lockstep::nn {

/// A block reads the stream normalized, and adds its output: x.add(attention(x.normalized(ln_1))).
///
/// An added branch waits for the next norm, which computes and normalizes the sum in one pass: the stream is read and
/// written once for both. Thread safety: one thread.
class ResidualStream {
 public:
  /// @param start  [B, T, C]
  explicit ResidualStream(autograd::Variable start);
  /// Continues from the parts that take() returned.
  explicit ResidualStream(std::span<const autograd::Variable> parts);

  /// The stream normalized by `norm`, [B, T, C]. @cost  One pass over it, including branches added since the last one.
  [[nodiscard]] autograd::Variable normalized(const LayerNorm& norm);

  /// @param branch  [B, T, C]
  void add(autograd::Variable branch);

  /// The sum of all branches so far, [B, T, C], as a part of a model hands it on. @cost  One pass if a branch waits.
  [[nodiscard]] autograd::Variable sum();

  /// The stream as a checkpoint keeps it: the sum, and the branch that waits to be added, if any. Leaves the stream
  /// empty.
  [[nodiscard]] std::vector<autograd::Variable> take();

 private:
  autograd::Variable sum_;
  autograd::Variable waiting_;  // undefined: none
};

}  // namespace lockstep::nn
