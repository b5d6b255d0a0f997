#include "optim/optimizer.hpp"

#include "base/error.hpp"

namespace lockstep::optim {

void Optimizer::step(double learning_rate) {
  ++step_count_;
  std::size_t index = 0;
  for (const nn::ParameterGroup& group : groups_) {
    for (const nn::NamedParameter& named : group.parameters) {
      const autograd::Variable& parameter = named.parameter;
      if (parameter.has_gradient()) {
        update({parameter.value(), parameter.gradient(), index, learning_rate, group.weight_decay});
        parameter.value_changed();
      }
      ++index;
    }
  }
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
      const Tensor& value = named.parameter.value();
      require(value.dtype() == DType::kFloat32, "optim: ", named.name, " is ", value.dtype(),
              "; optimizers update float32");
      zeros.push_back(Tensor::zeros(value.shape(), value.dtype(), value.device()));
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
