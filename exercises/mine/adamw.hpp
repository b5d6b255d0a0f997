#pragma once
/// @file
/// An optimizer whose step is what exercise 05.1 asks for.
#include <memory>
#include <vector>

#include "nn/module.hpp"
#include "optim/optimizer.hpp"

namespace lockstep::mine {

/// AdamW with the betas of run::make_optimizer(). Parameters are on the CPU.
[[nodiscard]] std::unique_ptr<optim::Optimizer> make_learners_adamw(std::vector<nn::ParameterGroup> groups);

}  // namespace lockstep::mine
