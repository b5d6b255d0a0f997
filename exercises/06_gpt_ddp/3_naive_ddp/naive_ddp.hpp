#pragma once
/// @file
/// Given: the averaging of exercise 06.3 as its callers see it.
#include <span>

#include "exercise/collectives.hpp"
#include "exercise/todo.hpp"

namespace lockstep::ddp {

using exercise::Collectives;

/// One parameter's gradient on one rank, after backward.
struct Gradient {
  std::span<float> values;  ///< [count]; numbers of an earlier step if there is no gradient.
  bool has_gradient;        ///< Whether this rank's loss depended on the parameter in this step.
};

/// Replaces the gradients by their means over all ranks. A rank without a gradient for a parameter counts as zeros.
///
/// @param gradients  One per parameter; on all ranks as many, with the same counts. A parameter may have a gradient on
///                   some ranks and none on others.
/// @param group      All ranks call this function together.
/// @post  On every rank: if any rank had a gradient, `has_gradient` is true and `values` are the sum of all ranks'
///        gradients divided by world_size. If no rank had one, `has_gradient` is false and `values` are unchanged.
/// @cost  One all-reduce, with one element more per parameter than the gradients have together.
void average_gradients(std::span<Gradient> gradients, Collectives& group);

}  // namespace lockstep::ddp
