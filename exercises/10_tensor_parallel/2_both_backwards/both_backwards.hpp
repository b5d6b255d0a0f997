#pragma once
/// @file
/// Given: the two differentiable functions around a cut layer, and what sequence parallelism adds after backward, for
/// exercise 10.2.
#include <span>

#include "autograd/node.hpp"
#include "exercise/collectives.hpp"
#include "exercise/todo.hpp"

namespace lockstep::tensor_parallel {

using autograd::record;
using autograd::Variable;
using exercise::Collectives;
using exercise::Work;

/// Stands before a layer that is cut by columns. Forward: the input as it is; all ranks have the same. In backward each
/// rank gets the gradient that its own columns cause, which is one term of a sum.
///
/// @param input  float32, the same values on all ranks. Not changed.
/// @return       The same values. Its backward gives `input` the sum of all ranks' gradients, the same on all ranks,
///               and changes nobody else's gradient.
/// @pre   `group` lives until backward has passed. All ranks call this in the same order.
/// @cost  Forward nothing, backward one all-reduce of the gradient.
[[nodiscard]] Variable copy_to_ranks(const Variable& input, Collectives& group);

/// Stands after a layer that is cut by rows. Forward: the sum of all ranks' terms. In backward all ranks get the same
/// gradient, because they go on with the same sum.
///
/// @param partial  float32: this rank's term. Not changed.
/// @return         The sum, the same on all ranks. Its backward gives `partial` the gradient of the sum as it is, and
///                 keeps no element of `partial` until then.
/// @cost  Forward one all-reduce, backward nothing.
[[nodiscard]] Variable sum_over_ranks(const Variable& partial, Collectives& group);

/// For sequence parallelism, after backward: a norm's parameters are whole on all ranks, and each rank has used them on
/// rows of its own, so its gradients are one term of a sum. Replaces each by the sum over all ranks.
///
/// @param parameters  Those of norms, and no others. One without a gradient (it is frozen) has none on any rank, and
///                    stays without.
/// @cost  One all-reduce, of all gradients together.
void sum_partial_gradients(std::span<const Variable> parameters, Collectives& group);

}  // namespace lockstep::tensor_parallel
