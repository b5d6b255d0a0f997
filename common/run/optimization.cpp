#include "run/optimization.hpp"

#include <algorithm>
#include <cmath>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "optim/adamw.hpp"
#include "optim/sgd.hpp"
#include "run/option_checks.hpp"
#include "run/readable.hpp"

namespace lockstep::run {
namespace {

constexpr optim::AdamOptions kBetas{.beta1 = 0.9, .beta2 = 0.95};

std::string describe_optimizer(const TrainOptions& options) {
  if (options.optimizer == "adamw") return "AdamW";
  if (options.optimizer == "adam") return "Adam";
  if (options.momentum == 0) return "SGD";
  return concat(options.nesterov ? "Nesterov's SGD" : "SGD", " with momentum ", shortest(options.momentum));
}

// "0.002", or "0.002 x 4 (batch 64 / 16) = 0.008".
std::string describe_rate(const TrainOptions& options) {
  const double scale = options.learning_rate_scale();
  if (scale == 1) return shortest(options.learning_rate);
  const std::string root = options.learning_rate_scaling == "sqrt" ? "the root of " : "";
  return concat(shortest(options.learning_rate), " x ", shortest(scale), " (", root, "batch ", options.batch_size,
                " / ", options.reference_batch_size, ") = ", shortest(options.learning_rate * scale));
}

std::string describe_schedule(const TrainOptions& options) {
  if (options.schedule_name == "constant") return "";
  const double minimum = std::min(options.min_learning_rate, options.learning_rate) * options.learning_rate_scale();
  const std::string along = options.schedule_name == "linear" ? " along a line" : "";
  return concat(" falling to ", shortest(minimum), along);
}

void bind_update_options(CommandLine& app, TrainOptions& options) {
  app.add_option("--optimizer", options.optimizer, "What turns gradients into updates: adamw, adam or sgd")
      .check(one_of({"adamw", "adam", "sgd"}))
      .type_name("NAME");
  app.add_option("--momentum", options.momentum, "Share of its last step that sgd keeps; 0 keeps none")
      .check(real_number(0, 0.9999));
  app.add_flag("--nesterov", options.nesterov, "sgd looks one step of momentum ahead");
  app.add_option("--weight-decay", options.weight_decay, "Weight decay of matrices and embeddings")
      .check(real_number(0));
  app.add_option("--clip", options.clip, "Largest norm of the gradient; 0 does not clip").check(real_number(0));
  app.add_option("--dropout", options.dropout, "Share of activations dropped in training").check(real_number(0, 0.99));
}

void bind_learning_rate_options(CommandLine& app, TrainOptions& options) {
  app.add_option("--learning-rate", options.learning_rate, "Learning rate at its highest, after the warm-up")
      .check(real_number(0));
  app.add_option("--reference-batch-size", options.reference_batch_size,
                 "The batch that --learning-rate was found for: it is scaled to --batch-size")
      .check(whole_number(1))
      .without_default();
  app.add_option("--learning-rate-scaling", options.learning_rate_scaling,
                 "How it is scaled: linear (times the ratio of the batches), sqrt (times its root) or none")
      .check(one_of({"linear", "sqrt", "none"}))
      .type_name("NAME");
  app.add_option("--schedule", options.schedule_name,
                 "How the learning rate falls after the warm-up: cosine, linear, or constant (not at all)")
      .check(one_of({"cosine", "linear", "constant"}))
      .type_name("NAME");
  app.add_option("--min-learning-rate", options.min_learning_rate, "Learning rate at the end, scaled as the highest")
      .check(real_number(0));
  app.add_option("--warmup-steps", options.warmup_steps, "Steps in which the learning rate rises")
      .check(whole_number(0));
}

}  // namespace

void bind_optimization_options(CommandLine& app, TrainOptions& options) {
  bind_update_options(app, options);
  bind_learning_rate_options(app, options);
}

void require_sound_optimization(const CommandLine& app, const TrainOptions& options) {
  const bool is_sgd = options.optimizer == "sgd";
  for (const char* option : {"--momentum", "--nesterov"}) {
    if (!app.is_given(option) || is_sgd) continue;
    throw UsageError(concat(option, " is for --optimizer sgd; ", options.optimizer, " has betas of its own"));
  }
  if (is_sgd && options.nesterov && options.momentum == 0)
    throw UsageError("--nesterov looks ahead by --momentum, which is 0: give one, for example 0.9");
  if (app.is_given("--learning-rate-scaling") && options.reference_batch_size == 0)
    throw UsageError("--learning-rate-scaling scales from a batch that --reference-batch-size names: give that too");
}

double TrainOptions::learning_rate_scale() const noexcept {
  if (reference_batch_size == 0 || learning_rate_scaling == "none") return 1;
  const double ratio = static_cast<double>(batch_size) / static_cast<double>(reference_batch_size);
  return learning_rate_scaling == "sqrt" ? std::sqrt(ratio) : ratio;
}

optim::Schedule TrainOptions::schedule(std::int64_t total_steps) const {
  const double highest = learning_rate * learning_rate_scale();
  const std::int64_t warmup = std::min(warmup_steps, total_steps);
  const optim::DecayOptions decay{.learning_rate = highest,
                                  .total_steps = total_steps - warmup,
                                  .minimum = std::min(min_learning_rate, learning_rate) * learning_rate_scale()};
  if (schedule_name == "constant") return optim::LinearWarmup(highest, warmup);
  if (schedule_name == "linear") return optim::with_warmup(highest, warmup, optim::LinearDecay(decay));
  return optim::with_warmup(highest, warmup, optim::CosineDecay(decay));
}

std::unique_ptr<optim::Optimizer> make_optimizer(const TrainOptions& options, const nn::Module& model) {
  auto groups = nn::weight_decay_groups(model, options.weight_decay);
  if (options.optimizer == "adamw") return std::make_unique<optim::AdamW>(std::move(groups), kBetas);
  if (options.optimizer == "adam") return std::make_unique<optim::Adam>(std::move(groups), kBetas);
  require(options.optimizer == "sgd", "there is no optimizer ", options.optimizer);
  return std::make_unique<optim::Sgd>(std::move(groups),
                                      optim::SgdOptions{.momentum = options.momentum, .is_nesterov = options.nesterov});
}

std::string describe_optimization(const TrainOptions& options) {
  return concat(describe_optimizer(options), ", learning rate ", describe_rate(options), describe_schedule(options),
                ", warm-up ", grouped(options.warmup_steps), options.warmup_steps == 1 ? " step" : " steps",
                ", weight decay ", shortest(options.weight_decay), ", clip ",
                options.clip > 0 ? shortest(options.clip) : "off", ", dropout ", shortest(options.dropout));
}

}  // namespace lockstep::run
