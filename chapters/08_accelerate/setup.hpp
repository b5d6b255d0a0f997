#pragma once
/// @file
/// What the options of a training program mean for an accelerator.
#include "08_accelerate/accelerator.hpp"
#include "run/train_options.hpp"

namespace lockstep::accelerate {

/// Device, backend, precision, accumulation and the wrapper's options, as train_gpt_ddp reads them. There --batch-size
/// is that of all ranks together, so loaders are split; --uneven and evaluation repeat no sample. Without --bf16 the
/// launcher may choose the precision.
[[nodiscard]] AcceleratorOptions accelerator_options(const run::TrainOptions& options);

}  // namespace lockstep::accelerate
