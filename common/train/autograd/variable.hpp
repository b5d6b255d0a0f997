#pragma once
/// @file
/// A tensor that remembers how it was computed, and the contract between the tape and observers of gradients, such as
/// DistributedDataParallel.
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "kernels/types.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::autograd {

class Variable;

/// Is told when gradients are final. All calls come on the thread that runs backward(), which passes on exceptions
/// thrown here.
class GradientObserver {
 public:
  virtual ~GradientObserver() = default;

  /// Called once per backward for each observed parameter that the loss depends on, right after its last contribution
  /// (a tied weight gets several, and one call).
  virtual void on_gradient_ready(Variable& parameter) = 0;

  /// Called once per backward that reached one of the observer's parameters, after all of that backward's parameters
  /// are ready.
  virtual void on_backward_end() = 0;

  /// Throws if the last backward's gradients are wrong, which on a device may be found after backward has ended. Called
  /// after the host has waited for a number that depends on all of them (their norm), so it need not wait.
  virtual void require_sound_gradients() {}

  /// Forbids updates with the gradients of the last backward: one int64 on their device, 0 if nothing forbids them
  /// (kernels/optimizer.hpp). Undefined: never forbids any. At most one observer of a parameter may have a veto.
  [[nodiscard]] virtual Tensor veto() const { return {}; }

  /// Memory for the gradient of a parameter that has none. Asked before a gradient is first written, also after
  /// release_gradient(); lets gradients of several parameters lie side by side.
  /// @return  Uninitialised elements of the parameter's shape, type and device. Undefined: the next observer is asked;
  ///          if none answers, memory is allocated.
  [[nodiscard]] virtual Tensor place_gradient(Variable& /*parameter*/) { return {}; }
};

/// Brings a parameter's elements back after Variable::release_value(): gathers them from other ranks, reads or draws
/// them. Called on the thread that asked for the value, in forward or in backward().
class ValueSource {
 public:
  virtual ~ValueSource() = default;

  /// Must call `parameter.adopt_value()`, and must not ask for `parameter.value()`. May release other parameters, even
  /// those of the running operation, which holds them until it has computed.
  virtual void fetch(Variable& parameter) = 0;
};

/// Whether a kernel that produces a gradient replaces what is there or adds to it.
using GradientWrite = kernels::Write;

/// A value and its node in the graph; copies refer to the same node (as PyTorch's Tensor). A parameter is a leaf that
/// collects a gradient; data has no node. The graph holds only what backward() reads, is kept alive by the variables
/// computed last, and is freed as backward() walks it. Thread safety: one thread at a time.
class Variable {
 public:
  struct Node;  ///< Defined in autograd/node.hpp for writers of operations.

  Variable() = default;

  /// Data: a leaf that needs no gradient.
  explicit Variable(Tensor value) noexcept : value_(std::move(value)) {}

  /// A leaf that collects a gradient. The gradient's storage is allocated on first use unless rebound before.
  [[nodiscard]] static Variable parameter(Tensor value, std::string name);
  /// A leaf that is born without elements: `initial` brings them when value() is first asked for, and is then dropped.
  /// adopt_value() and set_value_source() drop it unused.
  /// @param initial  Not null; the parameter keeps it alive as long as it may be asked.
  [[nodiscard]] static Variable parameter(const Shape& shape, DType dtype, Device device,
                                          std::shared_ptr<ValueSource> initial, std::string name);

  /// For writers of operations: the result of a recorded operation.
  Variable(Tensor value, std::shared_ptr<Node> node) noexcept : value_(std::move(value)), node_(std::move(node)) {}

  /// False for a default-constructed variable.
  [[nodiscard]] bool is_defined() const noexcept { return node_ != nullptr || value_.is_defined(); }
  /// The elements; for a parameter the current storage, after a fetch by its source if they have been released. The
  /// reference is to the variable's own handle: to call value() again before this one is read, keep a copy of the
  /// handle.
  /// @throws ContractError  Undefined, without_value(), or released without a source to bring it back; names it.
  [[nodiscard]] const Tensor& value() const;
  /// Never fetches. @throws ContractError  Undefined.
  [[nodiscard]] const Shape& shape() const;
  /// Never fetches. @throws ContractError  Undefined.
  [[nodiscard]] DType dtype() const;
  /// Of value() and gradient(). Never fetches. @throws ContractError  Undefined.
  [[nodiscard]] Device device() const;
  /// A parameter that is not frozen, or computed from one while gradients were on.
  [[nodiscard]] bool requires_grad() const noexcept;
  /// A leaf made by parameter(), frozen or not.
  [[nodiscard]] bool is_parameter() const noexcept;
  /// False freezes a parameter: operations recorded from now on treat it as data, backward() leaves it without a
  /// gradient, and its current gradient is dropped. True unfreezes it. Like PyTorch's requires_grad_(); call it before
  /// a model is wrapped or given to an optimizer.
  /// @throws ContractError  Not a parameter. From backward(): it was frozen between forward and backward.
  void set_requires_grad(bool requires_grad) const;
  /// The same elements as data, which no gradient passes: PyTorch's detach(). The elements are shared, so a write to a
  /// parameter's value() shows in both until rebind_value() moves it.
  [[nodiscard]] Variable detach() const { return Variable(value()); }
  /// Empty unless it is a parameter.
  [[nodiscard]] const std::string& name() const;
  /// True if both handles refer to the same node (a tied weight has two names but one node).
  [[nodiscard]] bool is_same(const Variable& other) const noexcept { return node_ && node_ == other.node_; }
  /// Null for data.
  [[nodiscard]] const std::shared_ptr<Node>& node() const noexcept { return node_; }
  /// The same node without keeping the elements of a computed variable alive: for an operation to capture if its
  /// backward writes this variable's gradient and does not read its value.
  [[nodiscard]] Variable without_value() const { return {Tensor(), node_}; }

  /// Whether anything has been written to the gradient since zero_grad().
  [[nodiscard]] bool has_gradient() const noexcept;
  /// The gradient, same shape and dtype as value(). @throws ContractError  Nothing has been written.
  [[nodiscard]] const Tensor& gradient() const;
  /// Marks the gradient unwritten: the next contribution overwrites it; nothing is filled with zeros.
  void zero_grad() const;
  /// Storage and mode for the next contribution. Marks the gradient written.
  /// @throws ContractError  The variable needs no gradient.
  [[nodiscard]] std::pair<Tensor, GradientWrite> begin_gradient_write() const;
  /// Adds a whole contribution; a computed variable takes the first one over instead of copying it, so the caller must
  /// not write to `contribution` afterwards.
  void accumulate_gradient(Tensor contribution) const;

  /// Moves the parameter's value into other storage, copying the elements (buckets). Asks for initial values.
  /// @throws ContractError  Released.
  void rebind_value(Tensor storage_view) const;
  /// Makes `storage_view` the gradient's storage, keeping what has been written. Gradients' addresses are not cached
  /// across calls, so this is legal unless a backward is running.
  void rebind_gradient(Tensor storage_view) const;

  /// @name Memory that comes and goes
  /// For callers that keep only a part of the elements (sharding). Legal in backward() too, for gradients once they are
  /// complete. Operations hold no value of a parameter between forward and backward; a view of it (detach(), reshape(),
  /// narrow() of rows) does, and keeps the memory.
  /// @{

  /// Lets go of the parameter's elements and of autocast's rounded copy. Nothing is copied.
  /// @return  The old storage; undefined if released before. Dropping it frees the memory unless somebody else refers
  ///          to it: is_exclusive(), autograd/node.hpp.
  /// @throws ContractError  Not a parameter.
  Tensor release_value() const;
  /// Makes `value` the parameter's elements, replacing the present or released ones. Nothing is copied.
  /// @throws ContractError  Not a parameter; another shape, type or device.
  void adopt_value(Tensor value) const;
  /// Whether value() returns without a fetch.
  [[nodiscard]] bool has_value() const noexcept;
  /// Sets the source that value() asks after a release, or in place of initial values that have not been asked for;
  /// null: none. The source must outlive that use.
  /// @throws ContractError  Not a parameter.
  void set_value_source(ValueSource* source) const;
  /// Lets go of the gradient and of its storage: the next contribution is a first one, and its storage is asked for
  /// again.
  /// @return  The old storage, as release_value().
  /// @throws ContractError  Not a parameter, or backward() has still to add to it.
  Tensor release_gradient() const;
  /// Makes `gradient` the parameter's gradient, as if backward() had written it. Nothing is copied.
  /// @throws ContractError  Not a parameter; frozen; another shape, type or device; backward() has still to add to it.
  void adopt_gradient(Tensor gradient) const;
  /// @}

  /// Moves a parameter to another device, with its gradient if one is written: Module::to().
  /// Initial values that have not been asked for will be brought there.
  /// @throws ContractError  It has an observer, which may hold views of its memory; or its value is released.
  void move_to(Device device) const;

  /// Notifies `observer` of this parameter's gradients from now on, after observers added earlier. It must outlive its
  /// registration. @throws ContractError  Null, or added already.
  void add_observer(GradientObserver* observer) const;
  /// Does nothing if it is not registered.
  void remove_observer(const GradientObserver* observer) const;
  /// In the order in which they were added; empty unless it is a parameter. Valid until one is added or removed.
  [[nodiscard]] std::span<GradientObserver* const> observers() const noexcept;

  /// Computes the gradient of this one-element variable with respect to every parameter it depends on, adding to
  /// gradients that zero_grad() has not cleared, and frees the graph. Operations run in reverse order of creation.
  /// @param seed  dLoss/dThis, for example 1/accumulation_steps.
  /// @throws ContractError  Not one element, no gradient needed, or called twice.
  /// Passes on whatever an observer throws; then the graph is freed, and gradients written so far stay.
  void backward(double seed = 1.0) const;

 private:
  Tensor value_;                ///< Undefined for a parameter, whose value lives in its node.
  std::shared_ptr<Node> node_;  ///< Null for data.
};

/// While it lives, operations on this thread record nothing (evaluation, text generation); PyTorch's no_grad.
class NoGradGuard {
 public:
  [[nodiscard]] NoGradGuard() noexcept;  // with a name: `NoGradGuard();` would end at once
  ~NoGradGuard();
  NoGradGuard(const NoGradGuard&) = delete;
  NoGradGuard& operator=(const NoGradGuard&) = delete;

 private:
  bool was_enabled_;
};

/// Whether operations on this thread record a graph.
[[nodiscard]] bool is_grad_enabled() noexcept;

}  // namespace lockstep::autograd
