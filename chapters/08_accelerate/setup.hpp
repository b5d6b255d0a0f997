#pragma once
/// @file
/// What the options of a training program mean for an accelerator.
#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "08_accelerate/accelerator.hpp"
#include "run/run.hpp"
#include "run/train_options.hpp"

namespace lockstep::accelerate {

/// Device, backend, precision, accumulation and the wrapper's options, as train_gpt_ddp reads them. There --batch-size
/// is that of all ranks together, so loaders are split; --uneven and evaluation repeat no sample. Without --bf16 the
/// launcher may choose the precision.
[[nodiscard]] AcceleratorOptions accelerator_options(const run::TrainOptions& options);

/// Has what decides how gradients are added up and scaled saved with the run's checkpoints, and taken over when it is
/// resumed: the order of `ddp`'s buckets, and the gradient scaler where there is one.
/// @param run          Not resumed yet.
/// @param accelerator  Outlives the run.
/// @param ddp          Outlives the run.
void keep_state(run::Run& run, Accelerator& accelerator, ddp::DistributedDataParallel& ddp);

}  // namespace lockstep::accelerate
