#include "run/optimization.hpp"

#include <algorithm>

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
std::string describe_rate(const RunOptions& options) {
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

void require_sound_optimizer(const CommandLine& line, const OptimizerOptions& optimizer) {
  const bool is_sgd = optimizer.name == "sgd";
  for (const char* option : {"--momentum", "--nesterov"}) {
    if (!line.is_given(option) || is_sgd) continue;
    throw UsageError(concat(option, " is for --optimizer sgd; ", optimizer.name, " has betas instead"));
  }
  if (is_sgd && optimizer.nesterov && optimizer.momentum == 0)
    throw UsageError("--nesterov looks ahead by --momentum, which is 0: give one, for example 0.9");
}

std::unique_ptr<optim::Optimizer> make_optimizer(const OptimizerOptions& options, const nn::Module& model) {
  auto groups = nn::weight_decay_groups(model, options.weight_decay);
  if (options.name == "adamw") return std::make_unique<optim::AdamW>(std::move(groups), kGptBetas);
  if (options.name == "adam") return std::make_unique<optim::Adam>(std::move(groups), kGptBetas);
  require(options.name == "sgd", "there is no optimizer ", options.name);
  return std::make_unique<optim::Sgd>(std::move(groups),
                                      optim::SgdOptions{.momentum = options.momentum, .is_nesterov = options.nesterov});
}

std::string describe_learning_rate(const RunOptions& options, std::int64_t total_steps) {
  const LearningRateOptions& rate = options.learning_rate;
  const std::int64_t warmup = std::min(rate.warmup_steps, total_steps);  // as RunOptions::schedule()
  return concat("learning rate ", describe_rate(options), describe_schedule(rate, options.learning_rate_scale()),
                ", warm-up ", grouped(warmup), warmup == 1 ? " step" : " steps");
}

std::string describe_optimization(const RunOptions& options, std::int64_t total_steps) {
  const OptimizerOptions& optimizer = options.optimizer;
  return concat(describe_optimizer(optimizer), ", ", describe_learning_rate(options, total_steps), ", weight decay ",
                shortest(optimizer.weight_decay), ", clip ", optimizer.clip > 0 ? shortest(optimizer.clip) : "off");
}

}  // namespace lockstep::run
