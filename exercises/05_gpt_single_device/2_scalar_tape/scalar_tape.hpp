#pragma once
/// @file
/// Given: the tape of exercise 05.2. It records computations with single numbers as common/train/autograd records those
/// with tensors: one node per operation, in the order in which they were computed.
#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

#include "exercise/todo.hpp"

namespace lockstep::autograd {

/// Turns the gradient of an operation's result into contributions to the gradients of its inputs.
using ScalarBackward = std::function<void(double gradient)>;

/// A parameter, or the result of one recorded operation.
struct ScalarNode {
  double value = 0;
  double gradient = 0;           ///< How much the loss changes per unit of this value.
  ScalarBackward backward = {};  ///< Empty for a parameter, which has no inputs.
};

class ScalarTape;

/// A number on a tape. Copies are the same number, as copies of a Variable are. Valid as long as its tape.
class Scalar {
 public:
  /// Of the tape. @param index  Of the node in ScalarTape::nodes().
  Scalar(ScalarTape& tape, std::size_t index) : tape_(&tape), index_(index) {}

  [[nodiscard]] ScalarTape& tape() const noexcept { return *tape_; }   ///< Where it is recorded.
  [[nodiscard]] std::size_t index() const noexcept { return index_; }  ///< Of its node on the tape.
  [[nodiscard]] double value() const;                                  ///< The number.
  [[nodiscard]] double gradient() const;                               ///< As of the last backward().

  /// Adds one contribution to this number's gradient. It gets one for each time it was used.
  void accumulate_gradient(double contribution) const;

 private:
  ScalarTape* tape_;
  std::size_t index_;
};

/// All numbers of a computation, in the order in which they were computed: inputs come before results.
class ScalarTape {
 public:
  /// A number that gradients are asked for.
  Scalar parameter(double value) { return record(value, {}); }

  /// The result of an operation. @param backward  Is called by backward(), with the result's gradient.
  Scalar record(double value, ScalarBackward backward) {
    nodes_.push_back({value, 0, std::move(backward)});
    return {*this, nodes_.size() - 1};
  }

  /// In the order in which they were computed.
  [[nodiscard]] std::deque<ScalarNode>& nodes() noexcept { return nodes_; }

  /// Computes d(loss)/d(number) for all numbers that `loss` was computed from.
  ///
  /// A parameter's gradient adds up over several calls, as over the parts of a batch. The gradient of a computed number
  /// belongs to one call only: what an earlier call has left there does not count.
  /// @param loss  On this tape. The contribution to its own gradient is 1: added up over several calls if it is a
  ///              parameter itself. @cost  Calls each node's `backward` at most once.
  void backward(Scalar loss);

 private:
  std::deque<ScalarNode> nodes_;
};

inline double Scalar::value() const { return tape_->nodes()[index_].value; }
inline double Scalar::gradient() const { return tape_->nodes()[index_].gradient; }

[[nodiscard]] Scalar add(Scalar a, Scalar b);       ///< a + b. Both are on the same tape, and may be the same number.
[[nodiscard]] Scalar multiply(Scalar a, Scalar b);  ///< a * b. As add().
[[nodiscard]] Scalar tanh(Scalar x);                ///< The hyperbolic tangent; its derivative is 1 - tanh(x)^2.
[[nodiscard]] Scalar relu(Scalar x);                ///< x where x > 0, else 0, with derivative 0.

}  // namespace lockstep::autograd
