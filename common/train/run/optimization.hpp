#pragma once
/// @file
/// Builds optimizers and schedules from the options.
#include <cstdint>
#include <memory>
#include <string>

#include "nn/module.hpp"
#include "optim/adamw.hpp"
#include "run/run_options.hpp"

namespace lockstep {
class CommandLine;
}

namespace lockstep::run {

/// For programs that take optimizer_options().
/// @param line  After parsing.
/// @throws UsageError  The options contradict each other.
void require_sound_optimizer(const CommandLine& line, const OptimizerOptions& optimizer);

/// Betas for AdamW and Adam: GPT-3's.
/// @source  Brown et al., "Language Models are Few-Shot Learners", 2020, appendix B.
inline constexpr optim::AdamOptions kGptBetas{.beta1 = 0.9, .beta2 = 0.95};

/// The optimizer that --optimizer names, over all parameters of `model`; only matrices and embeddings decay. AdamW and
/// Adam use kGptBetas.
[[nodiscard]] std::unique_ptr<optim::Optimizer> make_optimizer(const OptimizerOptions& options,
                                                               const nn::Module& model);

/// Learning rate with its scaling, and schedule: "learning rate 0.1 x 4 (batch 64 / 16) = 0.4 falling to 0.04, warm-up
/// 50 steps".
/// @param total_steps  Of the run: limits the length of the warm-up.
[[nodiscard]] std::string describe_learning_rate(const RunOptions& options, std::int64_t total_steps);

/// Optimizer, describe_learning_rate(), regularization: "SGD with momentum 0.9, learning rate ..., clip 1".
[[nodiscard]] std::string describe_optimization(const RunOptions& options, std::int64_t total_steps);

}  // namespace lockstep::run
