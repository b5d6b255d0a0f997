#pragma once
/// @file
/// What the ranks of a divided model do together in a step, beside forward and backward.
#include <cstdint>

#include "10_tensor_parallel/parallel_functions.hpp"
#include "data/dataset.hpp"
#include "nn/module.hpp"

namespace lockstep::tensor_parallel {

/// With RowLayout::kDivided a rank's gradients of the norms are those of its rows only. Sums them over the ranks; call
/// it after the step's last backward(). Without kDivided they are complete on every rank. Collective.
/// @cost  One all-reduce of (4 L + 2) C elements.
void sum_partial_gradients(nn::Module& model, Group& group);

/// The norm of the gradients of all ranks, each element counted once, on its owner; then scales them as
/// optim::clip_to(). Collective. @return  The norm before clipping, the same on all ranks.
double clip_grad_norm(const nn::Module& model, Group& group, double max_norm);

/// Of its tokens, targets and sample ids: different for batches that are not the same. The batch is in host memory.
[[nodiscard]] std::int64_t hash_of(const data::Batch& batch);

/// Ranks that divide a model compute the same samples. Compares tokens, targets and sample ids. Collective.
/// @throws MismatchError  On all ranks: names those that have another batch than rank 0.
/// @cost   One all-gather of 8 bytes, and a pass over the batch.
void require_same_batch(const data::Batch& batch, Group& group);

}  // namespace lockstep::tensor_parallel
