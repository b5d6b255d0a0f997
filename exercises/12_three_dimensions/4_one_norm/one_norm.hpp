#pragma once
/// @file
/// Given: what a rank of a grid has of the model's gradient, and its clipping, for exercise 12.4, as their callers see
/// them.
#include <span>
#include <string>

#include "exercise/collectives.hpp"
#include "exercise/todo.hpp"

namespace lockstep::one_norm {

using exercise::ShardCollectives;
using exercise::Work;

/// A rank's place on each axis of the grid, from 0.
struct Place {
  int pipeline = 0;  ///< Also called its stage.
  int data = 0;
  int tensor = 0;
};

/// How the ranks of a line have the elements of a parameter.
enum class Spread {
  kCut,     ///< Each element is on one rank of the line. A rank may have none.
  kCopied,  ///< Every rank of the line has all elements, with the same gradients.
};

/// This rank's elements of a parameter, after the backward pass and all sums over ranks: copies are equal.
struct Part {
  std::string name = {};  ///< For people: "blocks.0.mlp.down.bias". Names follow no rule.
  Spread along_tensor = Spread::kCopied;
  Spread along_data = Spread::kCopied;
  /// The last stage's token table, if there are several stages. It is no parameter: it belongs to the first stage,
  /// whose gradient contains this one already. Nobody reads this one any more.
  bool is_borrowed = false;
  std::span<float> gradient = {};  ///< [count]; may be empty.
};

/// This rank's share of the sum of the squares of the whole model's gradient, in float64. The shares of all ranks of
/// the grid add up to that sum, in which each element of each parameter counts once. Stages have different parameters.
///
/// @param parts  All that this rank has. @param place  Of this rank.
[[nodiscard]] double own_squares(std::span<const Part> parts, const Place& place);

/// Clips the gradient of the whole model to a norm of at most `max_norm`.
///
/// Its norm is the root of the sum of own_squares() over all ranks. If it is finite and above `max_norm`, every rank
/// multiplies what it has by max_norm / norm, copies and cut parts alike. Otherwise all gradients keep their bits:
/// small ones are not scaled up, and if the norm is infinite or NaN, the caller leaves out the step, on all ranks.
///
/// @param max_norm  Above 0, and the same on all ranks.
/// @param world     All ranks of the grid, which call this function together.
/// @return  The norm before clipping, the same bits on all ranks.
/// @cost    One collective, to which each rank contributes at most 8 numbers.
double clip_gradient(std::span<const Part> parts, const Place& place, double max_norm, ShardCollectives& world);

}  // namespace lockstep::one_norm
