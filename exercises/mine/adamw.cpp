#include "mine/adamw.hpp"

#include <utility>

#include "05_gpt_single_device/1_adamw/adamw.hpp"
#include "base/error.hpp"
#include "run/optimization.hpp"

namespace lockstep::mine {
namespace {

class AdamW final : public optim::Optimizer {
 public:
  explicit AdamW(std::vector<nn::ParameterGroup> groups)
      : Optimizer(std::move(groups)), averages_(zeros_like_parameters()), squared_averages_(zeros_like_parameters()) {}

  [[nodiscard]] std::vector<optim::NamedTensor> state() const override {
    std::vector<optim::NamedTensor> all;
    append_state(all, averages_, "exp_avg");
    append_state(all, squared_averages_, "exp_avg_sq");
    return all;
  }

 private:
  void update(const Update& update) override {
    require(update.value.device().is_cpu(), "the AdamW of 05.1 works in host memory: train with --device cpu");
    optim::adamw_step(update.value.span<float>(), averages_[update.index].span<float>(),
                      squared_averages_[update.index].span<float>(), update.gradient.span<float>(),
                      {.learning_rate = update.learning_rate,
                       .beta1 = run::kGptBetas.beta1,
                       .beta2 = run::kGptBetas.beta2,
                       .epsilon = run::kGptBetas.epsilon,
                       .weight_decay = update.weight_decay,
                       .step = update.number});
  }

  std::vector<Tensor> averages_, squared_averages_;
};

}  // namespace

std::unique_ptr<optim::Optimizer> make_learners_adamw(std::vector<nn::ParameterGroup> groups) {
  return std::make_unique<AdamW>(std::move(groups));
}

}  // namespace lockstep::mine
