#include "run/optimization.hpp"

#include <algorithm>
#include <cmath>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "optim/sgd.hpp"
#include "run/readable.hpp"

namespace lockstep::run {
namespace {

std::string describe_optimizer(const OptimizerOptions& optimizer) {
  if (optimizer.name == "adamw") return "AdamW";
  if (optimizer.name == "adam") return "Adam";
  if (optimizer.momentum == 0) return "SGD";
  return concat(optimizer.nesterov ? "Nesterov's SGD" : "SGD", " with momentum ", shortest(optimizer.momentum));
}

// "0.002", or "0.002 x 4 (batch 64 / 16) = 0.008".
std::string describe_rate(const TrainOptions& options) {
  const LearningRateOptions& rate = options.learning_rate;
  const double scale = options.learning_rate_scale();
  if (scale == 1) return shortest(rate.highest);
  const std::string root = rate.scaling == "sqrt" ? "the root of " : "";
  return concat(shortest(rate.highest), " x ", shortest(scale), " (", root, "batch ", options.batch_size, " / ",
                rate.reference_batch_size, ") = ", shortest(rate.highest * scale));
}

std::string describe_schedule(const LearningRateOptions& rate, double scale) {
  if (rate.schedule == "constant") return "";
  const std::string along = rate.schedule == "linear" ? " along a line" : "";
  return concat(" falling to ", shortest(std::min(rate.lowest, rate.highest) * scale), along);
}

}  // namespace

void require_sound_optimization(const CommandLine& app, const TrainOptions& options) {
  const bool is_sgd = options.optimizer.name == "sgd";
  for (const char* option : {"--momentum", "--nesterov"}) {
    if (!app.is_given(option) || is_sgd) continue;
    throw UsageError(concat(option, " is for --optimizer sgd; ", options.optimizer.name, " has betas instead"));
  }
  if (is_sgd && options.optimizer.nesterov && options.optimizer.momentum == 0)
    throw UsageError("--nesterov looks ahead by --momentum, which is 0: give one, for example 0.9");
  if (app.is_given("--learning-rate-scaling") && options.learning_rate.reference_batch_size == 0)
    throw UsageError("--learning-rate-scaling needs the batch size to scale from: give --reference-batch-size too");
}

double TrainOptions::learning_rate_scale() const noexcept {
  if (learning_rate.reference_batch_size == 0 || learning_rate.scaling == "none") return 1;
  const double ratio = static_cast<double>(batch_size) / static_cast<double>(learning_rate.reference_batch_size);
  return learning_rate.scaling == "sqrt" ? std::sqrt(ratio) : ratio;
}

optim::Schedule TrainOptions::schedule(std::int64_t total_steps) const {
  const double scale = learning_rate_scale(), highest = learning_rate.highest * scale;
  const std::int64_t warmup = std::min(learning_rate.warmup_steps, total_steps);
  const optim::DecayOptions decay{.learning_rate = highest,
                                  .total_steps = total_steps - warmup,
                                  .minimum = std::min(learning_rate.lowest, learning_rate.highest) * scale};
  if (learning_rate.schedule == "constant") return optim::LinearWarmup(highest, warmup);
  if (learning_rate.schedule == "linear") return optim::with_warmup(highest, warmup, optim::LinearDecay(decay));
  return optim::with_warmup(highest, warmup, optim::CosineDecay(decay));
}

std::unique_ptr<optim::Optimizer> make_optimizer(const TrainOptions& options, const nn::Module& model) {
  auto groups = nn::weight_decay_groups(model, options.optimizer.weight_decay);
  if (options.optimizer.name == "adamw") return std::make_unique<optim::AdamW>(std::move(groups), kGptBetas);
  if (options.optimizer.name == "adam") return std::make_unique<optim::Adam>(std::move(groups), kGptBetas);
  require(options.optimizer.name == "sgd", "there is no optimizer ", options.optimizer.name);
  return std::make_unique<optim::Sgd>(std::move(groups), optim::SgdOptions{.momentum = options.optimizer.momentum,
                                                                           .is_nesterov = options.optimizer.nesterov});
}

std::string describe_optimization(const TrainOptions& options) {
  const OptimizerOptions& optimizer = options.optimizer;
  const LearningRateOptions& rate = options.learning_rate;
  return concat(describe_optimizer(optimizer), ", learning rate ", describe_rate(options),
                describe_schedule(rate, options.learning_rate_scale()), ", warm-up ", grouped(rate.warmup_steps),
                rate.warmup_steps == 1 ? " step" : " steps", ", weight decay ", shortest(optimizer.weight_decay),
                ", clip ", optimizer.clip > 0 ? shortest(optimizer.clip) : "off", ", dropout ",
                shortest(options.model.dropout));
}

}  // namespace lockstep::run
