#include "optim/adamw.hpp"

#include "base/error.hpp"
#include "kernels/optimizer.hpp"

namespace lockstep::optim {

Adam::Adam(std::vector<nn::ParameterGroup> groups, const AdamOptions& options)
    : Adam(std::move(groups), options, WeightDecay::kCoupled) {}

Adam::Adam(const nn::Module& module, const AdamOptions& options)
    : Adam(std::vector{nn::all_parameters(module)}, options) {}

Adam::Adam(std::vector<nn::ParameterGroup> groups, const AdamOptions& options, WeightDecay weight_decay)
    : Optimizer(std::move(groups)),
      options_(options),
      weight_decay_(weight_decay),
      averages_(zeros_like_parameters()),
      squared_averages_(zeros_like_parameters()) {
  for (const double beta : {options_.beta1, options_.beta2})
    require(beta >= 0 && beta < 1, "optim: Adam's betas are ", options_.beta1, " and ", options_.beta2,
            "; each must be in [0, 1)");
  require(options_.epsilon >= 0, "optim: Adam's epsilon is ", options_.epsilon, "; it may not be negative");
}

std::vector<NamedTensor> Adam::state() const {
  std::vector<NamedTensor> all;
  append_state(all, averages_, "exp_avg");
  append_state(all, squared_averages_, "exp_avg_sq");
  return all;
}

void Adam::update(const Update& update) {
  const bool is_decoupled = weight_decay_ == WeightDecay::kDecoupled;
  kernels::adam_step(update.value, averages_[update.index], squared_averages_[update.index], update.gradient,
                     {.learning_rate = update.learning_rate,
                      .beta1 = options_.beta1,
                      .beta2 = options_.beta2,
                      .epsilon = options_.epsilon,
                      .weight_decay = update.weight_decay,
                      .decay_kind = is_decoupled ? kernels::WeightDecay::kDecoupled : kernels::WeightDecay::kInGradient,
                      .step = update.number},
                     update.veto);
}

}  // namespace lockstep::optim
