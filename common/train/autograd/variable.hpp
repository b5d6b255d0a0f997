#pragma once
/// @file
/// A tensor that remembers how it was computed, and the contract between the tape and whoever watches gradients
/// (DistributedDataParallel now, sharding later).
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "kernels/types.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::autograd {

class Variable;

/// Told when gradients are final. Everything is called on the thread that runs backward(); an exception from here
/// comes out of backward().
class GradientObserver {
 public:
  virtual ~GradientObserver() = default;

  /// Once per backward for each observed parameter that the loss depends on, right after its last contribution has
  /// been accumulated (a tied weight gets several, and one call).
  virtual void on_gradient_ready(Variable& parameter) = 0;

  /// Once per backward that reached one of the observer's parameters, after every parameter of that backward is ready.
  virtual void on_backward_end() = 0;

  /// Throws where the last backward's gradients are found to be wrong, which on a device may come out later than its
  /// end. Called once the host has waited for a number that all of them went into (their norm): then it need not wait.
  virtual void require_sound_gradients() {}

  /// What forbids updates with the gradients of the last backward: one int64 on their device, 0 where nothing does
  /// (kernels/optimizer.hpp). Undefined: nothing ever does. Of a parameter's observers at most one may have a veto.
  [[nodiscard]] virtual Tensor veto() const { return {}; }

  /// Memory for the gradient of a parameter that has none: asked where a gradient is written first, after
  /// release_gradient() too, so that gradients of several parameters come to lie side by side.
  /// @return  Uninitialised elements of the parameter's shape, type and device. Undefined: the next observer is asked,
  ///          and where none answers, memory is allocated.
  [[nodiscard]] virtual Tensor place_gradient(Variable& /*parameter*/) { return {}; }
};

/// Brings a parameter's elements back after Variable::release_value(): gathers them from other ranks, reads or draws
/// them. Called on the thread that asked for the value, in forward or in backward().
class ValueSource {
 public:
  virtual ~ValueSource() = default;

  /// Has to call `parameter.adopt_value()`, and must not ask for `parameter.value()`. May release other parameters,
  /// those that the running operation has asked for included: it holds them until it has computed.
  virtual void fetch(Variable& parameter) = 0;
};

/// Whether a kernel that produces a gradient replaces what is there or adds to it.
using GradientWrite = kernels::Write;

/// A value and its place in the graph; copies refer to the same place (as PyTorch's Tensor). A parameter is a leaf that
/// collects a gradient; data has no place in any graph. The graph holds only what backward() reads, is kept by the
/// variables computed last, and is freed as backward() walks it. Thread safety: one thread at a time.
class Variable {
 public:
  struct Node;  ///< A place in the graph; defined in autograd/node.hpp for those who write operations.

  Variable() = default;

  /// Data: a leaf that needs no gradient.
  explicit Variable(Tensor value) noexcept : value_(std::move(value)) {}

  /// A leaf that collects a gradient. The gradient's storage is made on first use unless rebound before.
  [[nodiscard]] static Variable parameter(Tensor value, std::string name);

  /// For writers of operations: the result of a recorded operation.
  Variable(Tensor value, std::shared_ptr<Node> node) noexcept : value_(std::move(value)), node_(std::move(node)) {}

  /// False for a default-constructed variable.
  [[nodiscard]] bool is_defined() const noexcept { return node_ != nullptr || value_.is_defined(); }
  /// The elements; for a parameter wherever they live now, and if they have been released, once its source has brought
  /// them back. The reference is to the variable's own handle: who asks for the next value before this one is read
  /// keeps a copy of the handle.
  /// @throws ContractError  Undefined, without_value(), or released without a source that brings it back; names it.
  [[nodiscard]] const Tensor& value() const;
  /// Of value(); never fetches. @throws ContractError  Undefined.
  [[nodiscard]] const Shape& shape() const;
  /// Of value() and gradient(); never fetches. @throws ContractError  Undefined.
  [[nodiscard]] DType dtype() const;
  /// Where value() and gradient() are; never fetches. @throws ContractError  Undefined.
  [[nodiscard]] Device device() const;
  /// A parameter that is not frozen, or computed from one while gradients were on.
  [[nodiscard]] bool requires_grad() const noexcept;
  /// A leaf made by parameter(), frozen or not.
  [[nodiscard]] bool is_parameter() const noexcept;
  /// False freezes a parameter: operations recorded from now on treat it as data, backward() leaves it without a
  /// gradient, and what its gradient held is forgotten. True ends that. As PyTorch's requires_grad_(), and like it to
  /// be called before a model is wrapped or given to an optimizer.
  /// @throws ContractError  Not a parameter. From backward(): it was frozen between forward and backward.
  void set_requires_grad(bool requires_grad) const;
  /// The same elements as data, which no gradient passes: PyTorch's detach(). They are shared, so that writing to a
  /// parameter's value() shows in both until rebind_value() moves it.
  [[nodiscard]] Variable detach() const { return Variable(value()); }
  /// The parameter's name, for messages and checkpoints; empty for other variables.
  [[nodiscard]] const std::string& name() const;
  /// True if both handles mean the same node (a tied weight appears under two names but is one node).
  [[nodiscard]] bool is_same(const Variable& other) const noexcept { return node_ && node_ == other.node_; }
  /// Null for data.
  [[nodiscard]] const std::shared_ptr<Node>& node() const noexcept { return node_; }
  /// The same place in the graph without keeping the elements of a computed variable alive: what an operation captures
  /// if its backward writes this variable's gradient and does not read its value.
  [[nodiscard]] Variable without_value() const { return {Tensor(), node_}; }

  /// Whether anything has been written to the gradient since zero_grad().
  [[nodiscard]] bool has_gradient() const noexcept;
  /// The gradient, same shape and dtype as value(). @throws ContractError  Nothing has been written.
  [[nodiscard]] const Tensor& gradient() const;
  /// Marks the gradient unwritten: the next contribution overwrites, nothing is filled with zeros.
  void zero_grad() const;
  /// Where the next contribution goes and how. Marks the gradient written.
  /// @throws ContractError  The variable needs no gradient.
  [[nodiscard]] std::pair<Tensor, GradientWrite> begin_gradient_write() const;
  /// Adds a whole contribution; the first one to a computed variable is taken over instead of copied, so the caller
  /// must not write to `contribution` afterwards.
  void accumulate_gradient(Tensor contribution) const;

  /// Moves the parameter's value into other storage, copying the elements (buckets). @throws ContractError  Released.
  void rebind_value(Tensor storage_view) const;
  /// Makes `storage_view` the place where gradients are written, keeping what has been written. Nobody caches a
  /// gradient's address across calls, so this is legal whenever no backward is running.
  void rebind_gradient(Tensor storage_view) const;

  /// @name Memory that comes and goes
  /// For those who keep only a part of the elements (sharding). Legal in backward() too, for gradients once they are
  /// complete. Operations ask for a parameter's value again in backward() and hold none in between; a view of it
  /// (detach(), reshape(), narrow() of rows) does, and keeps the memory.
  /// @{

  /// Lets go of the parameter's elements, and of what autocast has rounded them to. Nothing is copied.
  /// @return  What held them; undefined if they were released before. Dropping it frees the memory unless somebody else
  ///          refers to its storage: is_exclusive(), autograd/node.hpp.
  /// @throws ContractError  Not a parameter.
  Tensor release_value() const;
  /// Makes `value` the parameter's elements, in the place of those that it has or has released. Nothing is copied.
  /// @throws ContractError  Not a parameter; another shape, type or device.
  void adopt_value(Tensor value) const;
  /// Whether value() returns without a fetch.
  [[nodiscard]] bool has_value() const noexcept;
  /// Who is asked where value() finds nothing; null: nobody. It must outlive that.
  /// @throws ContractError  Not a parameter.
  void set_value_source(ValueSource* source) const;
  /// Lets go of the gradient and of the place where it was written: the next contribution is a first one, and its place
  /// is asked for again. @return  What held it, as release_value(). @throws ContractError  Not a parameter, or
  /// backward() has still to add to it.
  Tensor release_gradient() const;
  /// Makes `gradient` the parameter's gradient, as if backward() had written it. Nothing is copied.
  /// @throws ContractError  Not a parameter; frozen; another shape, type or device; backward() has still to add to it.
  void adopt_gradient(Tensor gradient) const;
  /// @}

  /// Moves a parameter to another device, with its gradient if one is written: Module::to().
  /// @throws ContractError  Somebody watches it, and may hold views of its memory; or its value is released.
  void move_to(Device device) const;

  /// From now on `observer` is told of this parameter's gradients, after those that were added before. It must outlive
  /// its registration. @throws ContractError  Null, or added already.
  void add_observer(GradientObserver* observer) const;
  /// Ends that; nothing happens where it is not registered.
  void remove_observer(const GradientObserver* observer) const;
  /// In the order in which they were added; empty for what is not a parameter. Valid until one is added or removed.
  [[nodiscard]] std::span<GradientObserver* const> observers() const noexcept;

  /// Computes the gradient of this one-element variable with respect to every parameter it depends on, adding to what
  /// zero_grad() has not cleared, and frees the graph. Operations run in reverse order of creation.
  /// @param seed  dLoss/dThis, for example 1/accumulation_steps.
  /// @throws ContractError  Not one element, no gradient needed, or called twice.
  /// Whatever an observer throws comes out too; the graph is freed, gradients written so far stay.
  void backward(double seed = 1.0) const;

 private:
  Tensor value_;                ///< Undefined for a parameter, whose value lives in its node.
  std::shared_ptr<Node> node_;  ///< Null for data.
};

/// While it lives, operations on this thread record nothing (evaluation, text generation); PyTorch's no_grad.
class NoGradGuard {
 public:
  NoGradGuard() noexcept;
  ~NoGradGuard();
  NoGradGuard(const NoGradGuard&) = delete;
  NoGradGuard& operator=(const NoGradGuard&) = delete;

 private:
  bool was_enabled_;
};

/// Whether operations on this thread record a graph.
[[nodiscard]] bool is_grad_enabled() noexcept;

}  // namespace lockstep::autograd
