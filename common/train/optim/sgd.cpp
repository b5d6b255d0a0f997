#include "optim/sgd.hpp"

#include "base/error.hpp"
#include "kernels/optimizer.hpp"

namespace lockstep::optim {

Sgd::Sgd(std::vector<nn::ParameterGroup> groups, SgdOptions options) : Optimizer(std::move(groups)), options_(options) {
  require(options_.momentum >= 0, "optim: SGD's momentum is ", options_.momentum, "; it may not be negative");
  require(!options_.is_nesterov || options_.momentum != 0, "optim: Nesterov's SGD needs a momentum");
  require_float32();
  if (options_.momentum != 0) momentum_buffers_ = zeros_like_parameters();
}

Sgd::Sgd(const nn::Module& module, SgdOptions options) : Sgd(std::vector{nn::all_parameters(module)}, options) {}

std::vector<NamedTensor> Sgd::state() const {
  std::vector<NamedTensor> all;
  if (options_.momentum != 0) append_state(all, momentum_buffers_, "momentum_buffer");
  return all;
}

void Sgd::update(const Update& update) {
  const Tensor velocity = momentum_buffers_.empty() ? Tensor() : momentum_buffers_[update.index];
  kernels::sgd_step(update.value, velocity, update.gradient,
                    {.learning_rate = update.learning_rate,
                     .momentum = options_.momentum,
                     .weight_decay = update.weight_decay,
                     .is_nesterov = options_.is_nesterov},
                    update.veto);
}

}  // namespace lockstep::optim
