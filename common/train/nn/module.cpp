#include "nn/module.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "autograd/node.hpp"
#include "base/error.hpp"
#include "nn/state_dict.hpp"

namespace lockstep::nn {

namespace {

// Follows a recipe when the parameter's value is first asked for, wherever the parameter is then.
class DeferredValues final : public autograd::ValueSource {
 public:
  explicit DeferredValues(InitialValues::Recipe recipe) : recipe_(std::move(recipe)) {}
  void fetch(autograd::Variable& parameter) override { parameter.adopt_value(recipe_(parameter.device())); }

 private:
  InitialValues::Recipe recipe_;
};

autograd::Variable make_parameter(const InitialValues& values, std::string name) {
  if (!values.recipe()) return autograd::Variable::parameter(values, std::move(name));
  return autograd::Variable::parameter(values.shape(), values.dtype(), values.device(),
                                       std::make_shared<DeferredValues>(values.recipe()), std::move(name));
}

}  // namespace

const Tensor& Buffer::value() const {
  require(value_ != nullptr, "nn: a buffer that no module has registered");
  return *value_;
}

std::vector<NamedParameter> Module::named_parameters() const {
  std::vector<NamedParameter> all;
  append_to(all, "");
  for (const NamedParameter& named : all) named.parameter.node()->listing = autograd::Variable::Node::Listing::kDone;
  return all;
}

std::vector<NamedBuffer> Module::named_buffers() const {
  std::vector<NamedBuffer> all;
  append_to(all, "");
  return all;
}

std::vector<NamedModule> Module::named_modules() {
  std::vector<NamedModule> all;
  append_to(all, "");
  return all;
}

std::vector<autograd::Variable> Module::parameters() const {
  std::vector<autograd::Variable> all;
  for (NamedParameter& named : named_parameters()) all.push_back(std::move(named.parameter));
  return all;
}

std::int64_t Module::parameter_count() const {
  std::int64_t count = 0;
  for (const autograd::Variable& parameter : parameters()) count += parameter.shape().count();
  return count;
}

void Module::zero_grad() {
  for (const autograd::Variable& parameter : parameters()) parameter.zero_grad();
}

void Module::to(Device device) {
  std::vector<NamedParameter> all;
  append_to(all, "");
  for (const NamedParameter& named : all) {
    require(named.parameter.observers().empty(), "nn: parameter ", named.name, " is watched and cannot move to ",
            device.name(), "; call to() before the model is wrapped");
  }
  for (const NamedParameter& named : all) named.parameter.move_to(device);
  move_buffers(device);
}

void Module::move_buffers(Device device) {
  for (const Entry& entry : entries_) {
    if (entry.child) entry.child->move_buffers(device);
    if (entry.buffer.value_) *entry.buffer.value_ = entry.buffer.value().to(device);
  }
}

void Module::set_requires_grad(bool requires_grad) {
  std::vector<NamedParameter> all;
  append_to(all, "");
  for (const NamedParameter& named : all) named.parameter.set_requires_grad(requires_grad);
}

autograd::Variable Module::register_parameter(std::string name, InitialValues value) {
  autograd::Variable parameter = make_parameter(value, name);
  parameter.node()->listing = autograd::Variable::Node::Listing::kAwaited;
  add_entry({std::move(name), parameter, nullptr});
  return parameter;
}

autograd::Variable Module::register_part(std::string name, InitialValues value, const Slice& slice, Owner owner) {
  require_valid(slice);
  require(value.shape() == slice.shape(), "nn: parameter ", name, ": ", value.shape(), " for a slice of shape ",
          slice.shape());
  autograd::Variable parameter = register_parameter(std::move(name), std::move(value));
  entries_.back().slice = slice;
  entries_.back().owner = owner;
  return parameter;
}

void Module::register_tied_parameter(std::string name, const autograd::Variable& parameter) {
  add_entry({std::move(name), parameter, nullptr});
}

Buffer Module::register_buffer(std::string name, Tensor value) {
  require(value.is_defined(), "nn: buffer ", name, " has no value");
  Buffer buffer(std::move(value));
  add_entry({std::move(name), {}, nullptr, buffer});
  return buffer;
}

void Module::register_module(std::string name, Module& child) {
  add_entry({std::move(name), {}, &child});
  std::vector<NamedParameter> all;
  append_to(all, "");
  for (const NamedParameter& named : all) named.parameter.node()->name = named.name;
}

void Module::adopt(std::string name, std::unique_ptr<Module> child) {
  register_module(std::move(name), *child);
  entries_.back().owned = std::move(child);
}

void Module::add_entry(Entry entry) {
  const bool is_taken =
      std::any_of(entries_.begin(), entries_.end(), [&](const Entry& other) { return other.name == entry.name; });
  require(!is_taken, "nn: a module registers the name ", entry.name, " twice");
  entries_.push_back(std::move(entry));
}

void Module::append_to(std::vector<NamedParameter>& all, const std::string& prefix) const {
  for (const Entry& entry : entries_) {
    if (entry.child) {
      entry.child->append_to(all, prefix + entry.name + ".");
      continue;
    }
    if (entry.buffer.value_) continue;
    const bool is_tied = std::any_of(all.begin(), all.end(),
                                     [&](const auto& other) { return other.parameter.is_same(entry.parameter); });
    if (is_tied) continue;
    all.push_back({prefix + entry.name, entry.parameter});
    if (!entry.slice) continue;
    all.back().slice = *entry.slice;
    all.back().is_owned = entry.owner == Owner::kThisRank;
  }
}

void Module::append_to(std::vector<NamedModule>& all, const std::string& path) {
  all.push_back({path, *this});
  for (const Entry& entry : entries_) {
    if (entry.child) entry.child->append_to(all, path.empty() ? entry.name : path + "." + entry.name);
  }
}

void Module::append_to(std::vector<NamedBuffer>& all, const std::string& prefix) const {
  for (const Entry& entry : entries_) {
    if (entry.child) entry.child->append_to(all, prefix + entry.name + ".");
    if (entry.buffer.value_) all.push_back({prefix + entry.name, entry.buffer.value()});
  }
}

std::vector<NamedParameter> trained_parameters(const Module& module) {
  std::vector<NamedParameter> all = module.named_parameters();
  std::erase_if(all, [](const NamedParameter& named) { return !named.parameter.requires_grad(); });
  return all;
}

ParameterGroup all_parameters(const Module& module) { return {trained_parameters(module), 0}; }

std::vector<ParameterGroup> weight_decay_groups(const Module& module, double weight_decay) {
  std::vector<ParameterGroup> groups{{{}, weight_decay}, {{}, 0}};
  for (NamedParameter& named : trained_parameters(module)) {
    const bool is_matrix = named.slice.whole.rank() >= 2;
    groups[is_matrix ? 0 : 1].parameters.push_back(std::move(named));
  }
  return groups;
}

std::vector<NamedTensor> Module::state_dict() const {
  std::vector<NamedTensor> state;
  for (const NamedParameter& named : named_parameters()) state.push_back({named.name, named.parameter.value()});
  for (const NamedBuffer& named : named_buffers()) state.push_back({named.name, named.value});
  return state;
}

void Module::append_tied_to(std::vector<NamedTensor>& all, const std::string& prefix) const {
  for (const Entry& entry : entries_) {
    if (entry.child) entry.child->append_tied_to(all, prefix + entry.name + ".");
    if (entry.parameter.is_defined()) all.push_back({prefix + entry.name, entry.parameter.value()});
  }
}

IncompatibleKeys Module::load_state_dict(std::span<const NamedTensor> state, Strict strict) {
  std::vector<NamedTensor> every_name;
  append_tied_to(every_name, "");
  return load_by_name(state_dict(), every_name, state, strict);
}

}  // namespace lockstep::nn
