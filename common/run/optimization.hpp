#pragma once
/// @file
/// What the options say about optimization, made real.
#include <memory>
#include <string>

#include "nn/module.hpp"
#include "optim/adamw.hpp"
#include "run/train_options.hpp"

namespace lockstep {
class CommandLine;
}

namespace lockstep::run {

/// @param app  After parsing.
/// @throws UsageError  Options that have no meaning together.
void require_sound_optimization(const CommandLine& app, const TrainOptions& options);

/// How AdamW and Adam average gradients here: with GPT-3's betas.
/// @source  Brown et al., "Language Models are Few-Shot Learners", 2020, appendix B.
inline constexpr optim::AdamOptions kGptBetas{.beta1 = 0.9, .beta2 = 0.95};

/// The optimizer that --optimizer names, over all parameters of `model`; matrices and embeddings decay, the rest does
/// not. AdamW and Adam take kGptBetas.
[[nodiscard]] std::unique_ptr<optim::Optimizer> make_optimizer(const TrainOptions& options, const nn::Module& model);

/// Optimizer, learning rate and how it was scaled, schedule, regularization: "SGD with momentum 0.9, learning rate
/// 0.1 x 4 (batch 64 / 16) = 0.4 falling to 0.04 by a cosine, warm-up 50 steps, ...".
[[nodiscard]] std::string describe_optimization(const TrainOptions& options);

}  // namespace lockstep::run
