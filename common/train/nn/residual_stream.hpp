#pragma once
/// @file
/// The sum that runs through a transformer, from block to block.
#include <span>
#include <vector>

#include "autograd/variable.hpp"
#include "nn/layers.hpp"

namespace lockstep::nn {

/// A block reads the stream normalized, and adds what it makes of that: x.add(attention(x.normalized(ln_1))).
///
/// What is added waits for the next norm, which then normalizes the sum in the pass that makes it: the stream is read
/// and written once for both. Thread safety: one thread.
class ResidualStream {
 public:
  /// @param start  [B, T, C]
  explicit ResidualStream(autograd::Variable start);
  /// Goes on where take() has ended.
  explicit ResidualStream(std::span<const autograd::Variable> parts);

  /// The stream as `norm` makes it, [B, T, C]. @cost  One pass over it, with all that has been added since the last
  /// one.
  [[nodiscard]] autograd::Variable normalized(const LayerNorm& norm);

  /// @param branch  [B, T, C]
  void add(autograd::Variable branch);

  /// The stream in the form in which a checkpoint keeps it or a stage sends it: the sum, and, if something waits to be
  /// added, that. Leaves nothing.
  [[nodiscard]] std::vector<autograd::Variable> take();

 private:
  autograd::Variable sum_;
  autograd::Variable waiting_;  // undefined: nothing is
};

}  // namespace lockstep::nn
