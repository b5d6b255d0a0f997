#pragma once
/// @file
/// Given: the AdamW step of exercise 05.1 as its callers see it.
#include <cstdint>
#include <span>

#include "exercise/todo.hpp"

namespace lockstep::optim {

/// The settings of one step. The defaults are PyTorch's.
struct AdamWSettings {
  double learning_rate = 1e-3;  ///< About how far a parameter moves in one step.
  double beta1 = 0.9;           ///< How much of the first moment survives a step.
  double beta2 = 0.999;         ///< How much of the second moment survives a step.
  double epsilon = 1e-8;        ///< Added to the denominator, so that it is never zero.
  double weight_decay = 0.01;   ///< The parameter shrinks by learning_rate * weight_decay of itself in each step.
  std::int64_t step = 1;        ///< The number of this step; the first one is 1.
};

/// Replaces the parameters and both moments by those after one step of AdamW.
///
/// @param parameter      [count], in place.
/// @param first_moment   [count], in place: the running mean of the gradients. Zeros before the first step.
/// @param second_moment  [count], in place: the running mean of the squared gradients. Zeros before the first step.
/// @param gradient       [count].
/// @param settings       The same in each step except for `step` and, with a schedule, the learning rate.
/// @post  Both moments are as they were averaged: the bias correction is applied to copies.
/// @source Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2.
void adamw_step(std::span<float> parameter, std::span<float> first_moment, std::span<float> second_moment,
                std::span<const float> gradient, const AdamWSettings& settings);

}  // namespace lockstep::optim
