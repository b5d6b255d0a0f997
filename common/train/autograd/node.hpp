#pragma once
/// @file
/// For writers of operations: the node of the graph, and `record`, which adds one.
///
/// An operation computes its output with kernels, then records a function that turns the output's gradient into its
/// inputs' gradients:
/// ```cpp
/// Variable multiply(const Variable& a, const Variable& b) {
///   Tensor product = ...;
///   return record(product, {a, b}, [a, b](Tensor d_product) {
///     if (a.requires_grad()) ...  // write into a.begin_gradient_write(), or a.accumulate_gradient(tensor)
///   });
/// }
/// ```
/// The function captures the variable itself if it reads the value, else `variable.without_value()`. If the variable is
/// a parameter, the function asks for its value again, because that may have been released and fetched in the meantime.
/// An operation that reads the values of two parameters holds copies of the handles.
/// autograd/gradcheck.hpp compares the gradients with slopes.
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "autograd/variable.hpp"

namespace lockstep::autograd {

/// Turns the gradient of an operation's output into contributions to every input with requires_grad(). The gradient is
/// handed over: an operation may overwrite it and pass it on if it is exclusive (is_exclusive).
using BackwardFunction = std::function<void(Tensor gradient)>;

/// Memory in which an operation prepares a gradient before backward() asks for it.
struct GradientLoan {
  Tensor tensor;  ///< Shaped like the variable; uninitialised when borrowed.
};

/// A parameter's elements in autocast's type. Graphs share it; Variable::release_value() takes it away from all of
/// them.
struct RoundedWeight {
  Tensor tensor;  ///< Undefined once the value has been released.
};

/// A parameter, or the result of one recorded operation.
struct Variable::Node {
  static constexpr std::uint64_t kNever = UINT64_MAX;  ///< For rounded_at: the copy must be made again.

  /// Whether a parameter has appeared in a list of parameters. Optimizers do not update one that never has.
  enum class Listing : std::uint8_t {
    kNotAwaited,  ///< Made by hand.
    kAwaited,     ///< A module's; not listed yet.
    kDone,        ///< A module's, and listed.
  };

  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  /// Frees the part of the graph that only this node keeps alive. Needs no more stack for a deep one.
  ~Node();

  Shape shape;
  DType dtype = DType::kFloat32;  ///< Of value and gradient.
  Device device;                  ///< Of value and gradient.
  Tensor gradient;                ///< For a computed variable only while backward() runs.
  bool has_gradient = false;      ///< Something has been written since zero_grad().

  // The fields of a parameter.
  bool is_parameter = false;  ///< False: the fields of an operation apply.
  std::string name;           ///< Full name, for messages and checkpoints.
  Listing listing = Listing::kNotAwaited;
  Tensor value;                            ///< Undefined while released.
  ValueSource* source = nullptr;           ///< Fetches a released value; null: none.
  std::shared_ptr<ValueSource> initial;    ///< Supplies the first value; null once it has.
  std::shared_ptr<RoundedWeight> rounded;  ///< The copy that autocast multiplies with; null if there is none.
  std::uint64_t rounded_at = kNever;       ///< write_accesses() of the value's storage when `rounded` was made.
  bool is_frozen = false;  ///< Counts as data: nothing is recorded for it, and backward() does not reach it.
  std::vector<GradientObserver*> observers;  ///< Told when the gradient is final, in this order.
  std::weak_ptr<GradientLoan> loan;          ///< Held by an operation that prepares a gradient in `gradient`.

  // The fields of an operation's result.
  std::uint64_t sequence = 0;                 ///< Larger than every input's; orders backward().
  std::vector<std::shared_ptr<Node>> inputs;  ///< Those with requires_grad(), one entry per use.
  BackwardFunction backward;                  ///< Empty once backward() has run it.

  std::int64_t pending_uses = 0;  ///< Contributions that the running backward() still expects; else 0.
};

/// A variable of `value`, computed from `inputs` (undefined ones are skipped). Records nothing and drops `backward` if
/// gradients are off or no input needs one.
[[nodiscard]] Variable record(Tensor value, std::initializer_list<Variable> inputs, BackwardFunction backward);

/// The same for any number of inputs.
[[nodiscard]] Variable record(Tensor value, std::span<const Variable> inputs, BackwardFunction backward);

/// True if record() would record. An operation can otherwise skip work that only its backward needs.
[[nodiscard]] bool will_record(std::initializer_list<Variable> inputs);

/// A computed variable and the gradient that reaches it from outside.
struct GradientStart {
  Variable output;
  Tensor gradient;  ///< Shaped like `output`; handed over.
};
/// Like Variable::backward(), from several variables at once. May run inside another backward(); that one still calls
/// the observers of the parameters to which it has yet to add. @throws ContractError  An output needs no gradient.
void backward_from(std::vector<GradientStart> starts);

/// While it lives, operations on this thread record nothing (as with NoGradGuard). Instead this collector, and any
/// outer ones, collect the parameters that would have been recorded, each once.
class ParameterCollector {
 public:
  ParameterCollector() noexcept;
  ~ParameterCollector();
  ParameterCollector(const ParameterCollector&) = delete;
  ParameterCollector& operator=(const ParameterCollector&) = delete;

  /// In order of first use.
  [[nodiscard]] const std::vector<Variable>& parameters() const noexcept { return parameters_; }
  /// Adds the parameters among `inputs`.
  void note(std::span<const Variable> inputs);

 private:
  NoGradGuard no_grad_;
  ParameterCollector* outer_;
  std::vector<Variable> parameters_;
};

/// While it lives, operations on this thread record, even inside a NoGradGuard.
class EnableGradGuard {
 public:
  [[nodiscard]] EnableGradGuard() noexcept;
  ~EnableGradGuard();
  EnableGradGuard(const EnableGradGuard&) = delete;
  EnableGradGuard& operator=(const EnableGradGuard&) = delete;

 private:
  bool was_enabled_;
};

/// Memory for a gradient that forward computes: a parameter's own gradient storage if nothing is written to it and
/// nobody else has borrowed it, else fresh memory. Avoids holding or copying a large gradient twice.
[[nodiscard]] std::shared_ptr<GradientLoan> borrow_gradient(const Variable& variable);

/// In backward: adds the borrowed tensor, now filled, to `variable`'s gradient.
void return_gradient(const Variable& variable, std::shared_ptr<GradientLoan> loan);

/// True if this handle is the only reference to its storage, so that overwriting it disturbs nobody.
[[nodiscard]] bool is_exclusive(const Tensor& tensor) noexcept;

/// `tensor` itself if it is exclusive, else uninitialised elements of the same shape and type: the output of an
/// element-wise kernel that reads `tensor`.
[[nodiscard]] Tensor reuse_or_allocate(const Tensor& tensor);

}  // namespace lockstep::autograd
