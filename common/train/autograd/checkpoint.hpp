#pragma once
/// @file
/// Activation checkpointing: memory for time.
#include <functional>
#include <span>
#include <vector>

#include "autograd/variable.hpp"

namespace lockstep::autograd {

/// A part of a model as a function of variables.
using CheckpointedFunction = std::function<std::vector<Variable>(std::span<const Variable>)>;

/// function(inputs), keeping only inputs and outputs: what lies between is computed again when backward() needs it, as
/// torch.utils.checkpoint does. Values and gradients are those of a call without checkpoint, bit for bit, and observers
/// see each parameter once.
///
/// @param function  Computes the same whenever it is called (random numbers by counter, not by state), and owns what it
///                  reads beside its inputs. Parameters used in it need not be among the inputs.
/// @param inputs    Passed on.
/// @cost            One more forward pass of `function` in backward; the memory of its inside only while that runs.
/// @source Chen, Xu, Zhang, Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016.
[[nodiscard]] std::vector<Variable> checkpoint(const CheckpointedFunction& function, std::vector<Variable> inputs);

}  // namespace lockstep::autograd
