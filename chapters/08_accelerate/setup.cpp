#include "08_accelerate/setup.hpp"

#include <optional>
#include <utility>

#include "06_gpt_ddp/ddp/setup.hpp"

namespace lockstep::accelerate {

AcceleratorOptions accelerator_options(const run::TrainOptions& options) {
  return {.process = {.device = options.device.name,
                      .share_gpu = options.device.share_gpu,
                      .bind_cores = options.device.bind_cores,
                      .backend = options.parallel.backend},
          .mixed_precision = options.model.bf16 ? std::optional(MixedPrecision::kBf16) : std::nullopt,
          .gradient_accumulation_steps = options.accumulation_steps,
          .split_batches = true,
          .even_batches = false,
          .device_placement = false,  // the GPT reads tokens in host memory, where its targets are counted
          .seed = options.seed,
          .ddp = ddp::ddp_options(options.parallel)};
}

void keep_state(run::Run& run, Accelerator& accelerator, ddp::DistributedDataParallel& ddp) {
  ddp::connect(run, ddp);
  if (std::optional<run::KeptState> scaler = accelerator.scaler_state())
    run.checkpoints().add_state(std::move(*scaler));
}

}  // namespace lockstep::accelerate
