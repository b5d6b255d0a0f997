#include "nn/layers.hpp"

#include <cmath>

#include "autograd/functions.hpp"

namespace lockstep::nn {
namespace {

// PyTorch's default: kaiming_uniform with a = sqrt(5), which is uniform in +-1/sqrt(inputs), for the bias too. Without
// inputs the bias is 0.
double linear_bound(std::int64_t inputs) { return inputs == 0 ? 0.0 : 1.0 / std::sqrt(static_cast<double>(inputs)); }

}  // namespace

Linear::Linear(std::int64_t inputs, std::int64_t outputs, const InitScope& scope, Bias bias)
    : weight_(register_parameter("weight", scope.uniform("weight", {outputs, inputs}, linear_bound(inputs)))) {
  if (bias == Bias::kYes) bias_ = register_parameter("bias", scope.uniform("bias", {outputs}, linear_bound(inputs)));
}

autograd::Variable Linear::forward(const autograd::Variable& input) const {
  return autograd::linear(input, weight_, bias_);
}

Conv1D::Conv1D(std::int64_t inputs, std::int64_t outputs, const InitScope& scope, double deviation)
    : weight_(register_parameter("weight", scope.normal("weight", {inputs, outputs}, deviation))),
      bias_(register_parameter("bias", scope.constant({outputs}, 0))) {}

autograd::Variable Conv1D::forward(const autograd::Variable& input) const {
  return autograd::conv1d(input, weight_, bias_);
}

autograd::Variable Conv1D::forward_of_gelu(const autograd::Variable& input) const {
  return call(input, [this](const autograd::Variable& given) { return autograd::gelu_conv1d(given, weight_, bias_); });
}

Embedding::Embedding(std::int64_t count, std::int64_t channels, const InitScope& scope, double deviation)
    : weight_(register_parameter("weight", scope.normal("weight", {count, channels}, deviation))) {}

LayerNorm::LayerNorm(std::int64_t channels, const InitScope& scope, double epsilon, Owner owner)
    : weight_(register_part("weight", scope.constant({channels}, 1), Slice::of({channels}), owner)),
      bias_(register_part("bias", scope.constant({channels}, 0), Slice::of({channels}), owner)),
      epsilon_(epsilon) {}

autograd::Variable LayerNorm::forward(const autograd::Variable& input) const {
  return autograd::layer_norm(input, weight_, bias_, epsilon_);
}

autograd::ResidualNorm LayerNorm::add_forward(const autograd::Variable& input, autograd::Variable branch) const {
  return autograd::add_layer_norm(input, std::move(branch), weight_, bias_, epsilon_);
}

Mlp::Mlp(std::int64_t inputs, std::int64_t hidden, std::int64_t outputs, const InitScope& scope)
    : fc1_(child<Linear>("fc1", inputs, hidden, scope)), fc2_(child<Linear>("fc2", hidden, outputs, scope)) {}

autograd::Variable Mlp::forward(const autograd::Variable& input) const { return fc2_(autograd::relu(fc1_(input))); }

}  // namespace lockstep::nn
