#pragma once
/// @file
/// Translates a training program's options for an accelerator.
#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "08_accelerate/accelerator.hpp"
#include "run/step_hooks.hpp"
#include "run/train_options.hpp"

namespace lockstep::accelerate {

/// Device, backend, precision, accumulation and the wrapper's options, as train_gpt_ddp reads them. --batch-size is the
/// total over all ranks, so loaders split batches; --uneven and evaluation repeat no sample. Without --bf16 the
/// launcher may choose the precision.
[[nodiscard]] AcceleratorOptions accelerator_options(const run::TrainOptions& options);

/// Lets a run do on every rank what the loop over `net` would do otherwise: it averages the loss, reports the
/// exposed communication, compares the replicas when it is due, lets a gradient scaler skip steps, and saves with each
/// checkpoint what decides how gradients are added and scaled (the order of the buckets, the scaler).
/// @param accelerator, net  Outlive the run.
[[nodiscard]] run::StepHooks step_hooks(Accelerator& accelerator, ddp::DistributedDataParallel& net);

}  // namespace lockstep::accelerate
