#pragma once
/// @file
/// Translates a training program's options for an accelerator.
#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "08_accelerate/accelerator.hpp"
#include "run/run.hpp"
#include "run/train_options.hpp"

namespace lockstep::accelerate {

/// Device, backend, precision, accumulation and the wrapper's options, as train_gpt_ddp reads them. --batch-size is the
/// total over all ranks, so loaders split batches; --uneven and evaluation repeat no sample. Without --bf16 the
/// launcher may choose the precision.
[[nodiscard]] AcceleratorOptions accelerator_options(const run::TrainOptions& options);

/// Saves the state that decides how gradients are added and scaled with the run's checkpoints, and restores it on
/// resume: the order of `ddp`'s buckets, and the gradient scaler if there is one.
/// @param run          Not resumed yet.
/// @param accelerator  Outlives the run.
/// @param ddp          Outlives the run.
void keep_state(run::Run& run, Accelerator& accelerator, ddp::DistributedDataParallel& ddp);

}  // namespace lockstep::accelerate
