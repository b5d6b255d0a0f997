#include "autograd/variable.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "autograd/node.hpp"
#include "base/error.hpp"
#include "device/memory_limit.hpp"
#include "kernels/ops.hpp"

namespace lockstep::autograd {
namespace {

Variable::Node& require_node(const std::shared_ptr<Variable::Node>& node, const char* operation) {
  require(node != nullptr, "autograd: ", operation,
          " on a variable that needs no gradient (data, or computed while gradients were off)");
  return *node;
}

Variable::Node& require_parameter(const std::shared_ptr<Variable::Node>& node, const char* operation) {
  Variable::Node& parameter = require_node(node, operation);
  require(parameter.is_parameter, "autograd: ", operation, " is for parameters, and this variable was computed");
  return parameter;
}

void require_same_layout(const Variable::Node& parameter, const Tensor& view, const char* operation) {
  require(view.is_defined() && view.shape() == parameter.shape && view.dtype() == parameter.dtype,
          "autograd: ", operation, ": parameter ", parameter.name, " is ", parameter.dtype, " ", parameter.shape,
          ", the new storage ", view.dtype(), " ", view.shape());
}

void require_same_layout_and_device(const Variable::Node& parameter, const Tensor& tensor, const char* operation) {
  require_same_layout(parameter, tensor, operation);
  require(tensor.device() == parameter.device, "autograd: ", operation, ": parameter ", parameter.name, " is on ",
          parameter.device.name(), ", the new storage on ", tensor.device().name());
}

void require_value(const Variable::Node& parameter, const char* operation) {
  require(parameter.value.is_defined(), "autograd: ", operation, " of parameter ", parameter.name,
          ", whose value is released; call value() first");
}

// For a copy rounded from other elements, or from other storage, whose write accesses count from 0.
void forget_rounded(Variable::Node& parameter) { parameter.rounded_at = Variable::Node::kNever; }

void fetch(const Variable& parameter) {
  const std::string& name = parameter.name();
  const std::shared_ptr<ValueSource> initial = parameter.node()->initial;  // adopt_value() drops the node's reference
  ValueSource* const source = initial ? initial.get() : parameter.node()->source;
  require(source != nullptr, "autograd: value() of parameter ", name,
          ", which is released and has no ValueSource; call adopt_value() or set_value_source() first");
  Variable handle = parameter;
  source->fetch(handle);
  require(parameter.has_value(), "autograd: the ValueSource of parameter ", name, " has fetched nothing");
}

// Asks the observers where the first contribution to a parameter's gradient goes.
void ask_for_place(const Variable& variable) {
  Variable::Node& node = *variable.node();
  if (!node.is_parameter || node.gradient.is_defined()) return;
  Variable parameter = variable;
  for (std::size_t i = 0; i < node.observers.size() && !node.gradient.is_defined(); ++i) {
    Tensor place = node.observers[i]->place_gradient(parameter);
    if (place.is_defined()) require_same_layout_and_device(node, place, "place_gradient()");
    node.gradient = std::move(place);
  }
}

Tensor allocate_gradient(const Variable::Node& node) {
  const AllocationPurpose purpose("gradient of ", node.is_parameter ? std::string_view(node.name) : "an activation");
  return Tensor::empty(node.shape, node.dtype, node.device);
}

// A tensor that others may read must not be modified in place.
void make_writable(Tensor& gradient) {
  if (!is_exclusive(gradient)) gradient = gradient.clone();
}

Tensor make_seed(const Variable::Node& node, double seed) {
  if (node.dtype == DType::kFloat64) return Tensor::from<double>(std::span(&seed, 1), node.shape, node.device);
  const auto rounded = static_cast<float>(seed);
  return Tensor::from<float>(std::span(&rounded, 1), node.shape, node.device);
}

}  // namespace

Variable Variable::parameter(Tensor value, std::string name) {
  require(value.is_defined(), "autograd: parameter ", name, " has no value");
  auto node = std::make_shared<Node>();
  node->shape = value.shape();
  node->dtype = value.dtype();
  node->device = value.device();
  node->is_parameter = true;
  node->name = std::move(name);
  node->value = std::move(value);
  return {Tensor(), std::move(node)};
}

Variable Variable::parameter(const Shape& shape, DType dtype, Device device, std::shared_ptr<ValueSource> initial,
                             std::string name) {
  require(initial != nullptr, "autograd: parameter ", name, " has neither a value nor a source of its first one");
  auto node = std::make_shared<Node>();
  node->shape = shape;
  node->dtype = dtype;
  node->device = device;
  node->is_parameter = true;
  node->name = std::move(name);
  node->initial = std::move(initial);
  return {Tensor(), std::move(node)};
}

const Tensor& Variable::value() const {
  if (node_ && node_->is_parameter) {
    if (!node_->value.is_defined()) fetch(*this);
    return node_->value;
  }
  require(value_.is_defined(), "autograd: value() of an undefined variable");
  return value_;
}

const Shape& Variable::shape() const {
  require(is_defined(), "autograd: shape() of an undefined variable");
  return node_ ? node_->shape : value_.shape();
}

DType Variable::dtype() const {
  require(is_defined(), "autograd: dtype() of an undefined variable");
  return node_ ? node_->dtype : value_.dtype();
}

Device Variable::device() const {
  require(is_defined(), "autograd: device() of an undefined variable");
  return node_ ? node_->device : value_.device();
}

const std::string& Variable::name() const {
  static const std::string kNone;
  return node_ ? node_->name : kNone;
}

bool Variable::requires_grad() const noexcept { return node_ && !node_->is_frozen; }
bool Variable::is_parameter() const noexcept { return node_ && node_->is_parameter; }

void Variable::set_requires_grad(bool requires_grad) const {
  Node& parameter = require_parameter(node_, "set_requires_grad()");
  require(parameter.pending_uses == 0, "autograd: set_requires_grad() of ", parameter.name, " during backward()");
  parameter.is_frozen = !requires_grad;
  if (parameter.is_frozen) parameter.has_gradient = false;
}

bool Variable::has_gradient() const noexcept { return node_ && node_->has_gradient; }

const Tensor& Variable::gradient() const {
  const Node& node = require_node(node_, "gradient()");
  require(node.has_gradient, "autograd: nothing has been written to the gradient of ",
          node.name.empty() ? "this variable" : node.name, "; call backward() first");
  return node.gradient;
}

void Variable::zero_grad() const {
  Node& node = require_node(node_, "zero_grad()");
  node.has_gradient = false;
  if (!node.is_parameter) node.gradient = Tensor();  // another variable may share its memory
  node.rounded_at = Node::kNever;  // a step begins; the last one may have written through a much older address
}

std::pair<Tensor, GradientWrite> Variable::begin_gradient_write() const {
  Node& node = require_node(node_, "begin_gradient_write()");
  ask_for_place(*this);
  if (!node.gradient.is_defined()) node.gradient = allocate_gradient(node);
  if (!node.has_gradient) {
    if (const auto loan = node.loan.lock()) loan->tensor = loan->tensor.clone();  // another graph was first
    node.loan.reset();
    node.has_gradient = true;
    return {node.gradient, GradientWrite::kOverwrite};
  }
  if (!node.is_parameter) make_writable(node.gradient);
  return {node.gradient, GradientWrite::kAdd};
}

void Variable::accumulate_gradient(Tensor contribution) const {
  Node& node = require_node(node_, "accumulate_gradient()");
  ask_for_place(*this);
  const bool may_take_over =
      !node.has_gradient && (!node.is_parameter || (!node.gradient.is_defined() && is_exclusive(contribution)));
  if (may_take_over) {
    require(contribution.shape().count() == node.shape.count() && contribution.dtype() == node.dtype,
            "autograd: a gradient of ", contribution.dtype(), ' ', contribution.shape(), " for a value of ", node.dtype,
            ' ', node.shape, "; the backward pass of an operation gives each input one of its own type and shape");
    node.gradient = contribution.reshape(node.shape);
    node.has_gradient = true;
    return;
  }
  const auto [gradient, write] = begin_gradient_write();
  if (write == GradientWrite::kOverwrite) {
    gradient.copy_from(contribution.reshape(node.shape));
  } else {
    kernels::add_scaled(gradient, 1.0, contribution);
  }
}

void Variable::rebind_value(Tensor storage_view) const {
  Node& parameter = require_parameter(node_, "rebind_value()");
  require_same_layout(parameter, storage_view, "rebind_value()");
  if (parameter.initial) fetch(*this);
  require_value(parameter, "rebind_value()");
  storage_view.copy_from(parameter.value);
  parameter.value = std::move(storage_view);
  forget_rounded(parameter);
}

void Variable::rebind_gradient(Tensor storage_view) const {
  Node& parameter = require_parameter(node_, "rebind_gradient()");
  require_same_layout(parameter, storage_view, "rebind_gradient()");
  require(parameter.pending_uses == 0, "autograd: rebind_gradient() of ", parameter.name, " during backward()");
  if (parameter.has_gradient) storage_view.copy_from(parameter.gradient);
  if (const auto loan = parameter.loan.lock()) loan->tensor = loan->tensor.clone();  // the old place may be reused
  parameter.loan.reset();
  parameter.gradient = std::move(storage_view);
}

bool Variable::has_value() const noexcept {
  return node_ && node_->is_parameter ? node_->value.is_defined() : value_.is_defined();
}

Tensor Variable::release_value() const {
  Node& parameter = require_parameter(node_, "release_value()");
  if (parameter.rounded) parameter.rounded->tensor = Tensor();  // graphs that hold it ask for the value again
  parameter.rounded.reset();
  forget_rounded(parameter);
  return std::exchange(parameter.value, Tensor());
}

void Variable::adopt_value(Tensor value) const {
  Node& parameter = require_parameter(node_, "adopt_value()");
  require_same_layout_and_device(parameter, value, "adopt_value()");
  parameter.value = std::move(value);
  parameter.initial.reset();
  forget_rounded(parameter);
}

void Variable::set_value_source(ValueSource* source) const {
  Node& parameter = require_parameter(node_, "set_value_source()");
  parameter.source = source;
  parameter.initial.reset();
}

Tensor Variable::release_gradient() const {
  Node& parameter = require_parameter(node_, "release_gradient()");
  require(parameter.pending_uses == 0, "autograd: release_gradient() of ", parameter.name,
          " before backward() has completed it");
  parameter.has_gradient = false;
  parameter.loan.reset();  // a gradient that is being prepared there arrives as an ordinary contribution
  return std::exchange(parameter.gradient, Tensor());
}

void Variable::adopt_gradient(Tensor gradient) const {
  Node& parameter = require_parameter(node_, "adopt_gradient()");
  require_same_layout_and_device(parameter, gradient, "adopt_gradient()");
  require(!parameter.is_frozen, "autograd: adopt_gradient() of ", parameter.name, ", which is frozen");
  require(parameter.pending_uses == 0, "autograd: adopt_gradient() of ", parameter.name,
          " before backward() has completed it");
  parameter.loan.reset();
  parameter.gradient = std::move(gradient);
  parameter.has_gradient = true;
}

void Variable::move_to(Device device) const {
  Node& parameter = require_parameter(node_, "move_to()");
  if (device == parameter.device) return;
  require(parameter.observers.empty() && parameter.pending_uses == 0, "autograd: parameter ", parameter.name,
          " cannot move to ", device.name(), " while it is watched; move the model before it is wrapped");
  if (!parameter.initial) {
    require_value(parameter, "move_to()");
    parameter.value = parameter.value.to(device);
  }
  parameter.gradient = parameter.has_gradient ? parameter.gradient.to(device) : Tensor();
  parameter.device = device;
  parameter.rounded.reset();
  forget_rounded(parameter);
}

void Variable::add_observer(GradientObserver* observer) const {
  Node& parameter = require_parameter(node_, "add_observer()");
  require(observer != nullptr && std::ranges::find(parameter.observers, observer) == parameter.observers.end(),
          "autograd: an observer of parameter ", parameter.name, " is null, or is added twice");
  parameter.observers.push_back(observer);
}

void Variable::remove_observer(const GradientObserver* observer) const {
  std::erase(require_parameter(node_, "remove_observer()").observers, observer);
}

std::shared_ptr<GradientLoan> borrow_gradient(const Variable& variable) {
  Variable::Node& node = require_node(variable.node(), "borrow_gradient()");
  const auto loan = std::make_shared<GradientLoan>();
  ask_for_place(variable);
  const bool is_free = node.is_parameter && !node.has_gradient && node.loan.expired();
  if (is_free && node.gradient.is_defined()) {
    loan->tensor = node.gradient;
    node.loan = loan;
  } else {
    loan->tensor = allocate_gradient(node);
  }
  return loan;
}

void return_gradient(const Variable& variable, std::shared_ptr<GradientLoan> loan) {
  Variable::Node& node = require_node(variable.node(), "return_gradient()");
  const bool is_ours = node.loan.lock() == loan;
  if (is_ours) node.loan.reset();
  if (is_ours && !node.has_gradient && loan->tensor.data() == node.gradient.data()) {
    node.has_gradient = true;  // it is already in place
  } else {
    variable.accumulate_gradient(std::exchange(loan->tensor, Tensor()));
  }
}

void Variable::backward(double seed) const {
  require(node_ != nullptr,
          "autograd: backward() on a variable that depends on no parameter, or was computed while gradients were off");
  require(node_->shape.count() == 1, "autograd: backward() starts from one element, not from shape ", node_->shape);
  require(!node_->is_parameter, "autograd: backward() on a parameter");
  backward_from({{*this, make_seed(*node_, seed)}});
}

std::span<GradientObserver* const> Variable::observers() const noexcept {
  if (!node_) return {};
  return node_->observers;
}

}  // namespace lockstep::autograd
