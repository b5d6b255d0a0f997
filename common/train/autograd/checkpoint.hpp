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

/// Computes function(inputs), keeping only inputs and outputs: everything in between is computed again when backward()
/// needs it, like torch.utils.checkpoint. Values and gradients are bit for bit those of a call without checkpoint, and
/// observers are told of each parameter once.
///
/// @param function  Must compute the same on every call (random numbers by counter, not by state), and must own any
///                  other data it reads. Parameters used in it need not be among the inputs.
/// @cost            One more forward pass of `function` in backward; its activations take memory only during that pass.
/// @source Chen, Xu, Zhang, Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016.
[[nodiscard]] std::vector<Variable> checkpoint(const CheckpointedFunction& function, std::vector<Variable> inputs);

}  // namespace lockstep::autograd
