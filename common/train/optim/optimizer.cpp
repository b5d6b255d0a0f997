#include "optim/optimizer.hpp"

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
  for (const nn::ParameterGroup& group : groups_) {
    for (const nn::NamedParameter& named : group.parameters) (void)veto_of(named);
    updates_.resize(updates_.size() + group.parameters.size());
  }
  require(!updates_.empty(), "optim: no parameter to update; a module's layers are made with child<...>(name, ...)");
}

void Optimizer::step(double learning_rate) {
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
  auto updates = updates_.begin();
  for (const nn::ParameterGroup& group : groups_) {
    for (const nn::NamedParameter& named : group.parameters) {
      if (*updates < steps_) counts.fewer[named.name] = *updates;
      ++updates;
    }
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

std::vector<Tensor> Optimizer::zeros_like_parameters() const {
  std::vector<Tensor> zeros;
  for (const nn::ParameterGroup& group : groups_) {
    for (const nn::NamedParameter& named : group.parameters) {
      const autograd::Variable& parameter = named.parameter;
      require(parameter.dtype() == DType::kFloat32, "optim: ", named.name, " is ", parameter.dtype(),
              "; optimizers update float32");
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
