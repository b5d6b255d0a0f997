#pragma once
/// @file
/// Gradients averaged as exercises 06.3 and 06.4 ask for.
#include "comm/process_group.hpp"
#include "nn/module.hpp"

namespace lockstep::mine {

/// Replaces every parameter's gradient by its mean over all ranks, with the function of exercise 06.3: one all-reduce.
/// @pre  Gradients are float32 in host memory.
void average_flattened(const nn::Module& model, comm::ProcessGroup& group);

/// The same with those of exercise 06.4: an all-reduce per bucket.
/// @pre  As above, and every parameter has a gradient.
void average_in_buckets(const nn::Module& model, comm::ProcessGroup& group);

}  // namespace lockstep::mine
