#include "optim/optimizer.hpp"

#include <cmath>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "device/memory_limit.hpp"

namespace lockstep::optim {

namespace {

// A parameter's veto; undefined if no observer has one.
Tensor veto_of(const nn::NamedParameter& named) {
  Tensor veto;
  for (const autograd::GradientObserver* observer : named.parameter.observers()) {
    Tensor next = observer->veto();
    if (!next.is_defined()) continue;
    require(!veto.is_defined(), "optim: two observers of ", named.name, " may forbid its update; one can");
    veto = std::move(next);
  }
  return veto;
}

}  // namespace

Optimizer::Optimizer(std::vector<nn::ParameterGroup> groups) : groups_(std::move(groups)) {
  std::set<const autograd::Variable::Node*> nodes;
  for (const nn::ParameterGroup& group : groups_) {
    require(group.weight_decay >= 0 && group.learning_rate_scale >= 0, "optim: a group has weight decay ",
            group.weight_decay, " and learning rate scale ", group.learning_rate_scale, "; neither may be negative");
    for (const nn::NamedParameter& named : group.parameters) {
      require(named.parameter.is_parameter(), "optim: ", named.name,
              " is no parameter, so it gets no gradient; make it with register_parameter() or Variable::parameter()");
      require(nodes.insert(named.parameter.node().get()).second, "optim: parameter ", named.name,
              " comes twice, and each step would update it twice; leave it out of one of the groups");
      (void)veto_of(named);
    }
    updates_.resize(updates_.size() + group.parameters.size());
  }
  require(!updates_.empty(), "optim: no parameter to update; a module's layers are made with child<...>(name, ...)");
}

void Optimizer::step(double learning_rate) {
  require(learning_rate >= 0 && std::isfinite(learning_rate), "optim: the learning rate is ", learning_rate,
          " in step ", steps_, ", which counts from 0; look at its schedule");
  auto updates = updates_.begin();
  for (const nn::ParameterGroup& group : groups_) {
    const double own_rate = learning_rate * group.learning_rate_scale;
    for (const nn::NamedParameter& named : group.parameters) {
      const autograd::Variable& parameter = named.parameter;
      const auto index = static_cast<std::size_t>(updates - updates_.begin());
      const Tensor veto = veto_of(named);  // without a gradient too: an observer may have taken it
      if (parameter.has_gradient())
        update({parameter.value(), parameter.gradient(), index, ++*updates, own_rate, group.weight_decay, veto});
      ++updates;
    }
  }
  ++steps_;
}

StepCounts Optimizer::step_counts() const {
  StepCounts counts{.steps = steps_};
  std::multiset<std::string> names;
  auto updates = updates_.begin();
  for (const nn::ParameterGroup& group : groups_) {
    for (const nn::NamedParameter& named : group.parameters) {
      names.insert(named.name);
      if (*updates < steps_) counts.fewer[named.name] = *updates;
      ++updates;
    }
  }
  for (const auto& [name, fewer] : counts.fewer) {
    require(names.count(name) == 1, "optim: two parameters are called ", name,
            ", so their step counts cannot be told apart; make their modules children of one module");
  }
  return counts;
}

void Optimizer::set_step_counts(const StepCounts& counts) {
  std::vector<std::int64_t> updates;
  std::size_t found = 0;
  for (const nn::ParameterGroup& group : groups_) {
    for (const nn::NamedParameter& named : group.parameters) {
      const auto fewer = counts.fewer.find(named.name);
      updates.push_back(fewer == counts.fewer.end() ? counts.steps : fewer->second);
      found += fewer == counts.fewer.end() ? 0 : 1;
    }
  }
  require(found >= counts.fewer.size(), "optim: step counts of ", counts.fewer.size(), " parameters, of which this ",
          "optimizer has ", found);
  updates_ = std::move(updates);
  steps_ = counts.steps;
}

void Optimizer::zero_grad() {
  for (const nn::ParameterGroup& group : groups_) {
    for (const nn::NamedParameter& named : group.parameters) named.parameter.zero_grad();
  }
}

void Optimizer::require_float32() const {
  for (const nn::ParameterGroup& group : groups_) {
    for (const nn::NamedParameter& named : group.parameters) {
      require(named.parameter.dtype() == DType::kFloat32, "optim: ", named.name, " is ", named.parameter.dtype(),
              "; optimizers update float32");
    }
  }
}

std::vector<Tensor> Optimizer::zeros_like_parameters() const {
  require_float32();
  std::vector<Tensor> zeros;
  for (const nn::ParameterGroup& group : groups_) {
    for (const nn::NamedParameter& named : group.parameters) {
      const autograd::Variable& parameter = named.parameter;
      const AllocationPurpose purpose("moment of ", named.name, MemoryNeed::kOfModel);
      zeros.push_back(Tensor::zeros(parameter.shape(), parameter.dtype(), parameter.device()));
    }
  }
  return zeros;
}

void Optimizer::append_state(std::vector<NamedTensor>& all, const std::vector<Tensor>& tensors,
                             const std::string& suffix) const {
  auto tensor = tensors.begin();
  for (const nn::ParameterGroup& group : groups_) {
    for (const nn::NamedParameter& named : group.parameters) all.push_back({named.name + "." + suffix, *tensor++});
  }
}

}  // namespace lockstep::optim
