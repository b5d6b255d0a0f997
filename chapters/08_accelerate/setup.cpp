#include "08_accelerate/setup.hpp"

#include <optional>
#include <utility>

#include "06_gpt_ddp/ddp/setup.hpp"
#include "06_gpt_ddp/replica_check.hpp"
#include "base/text.hpp"
#include "run/run.hpp"

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

run::StepHooks step_hooks(Accelerator& accelerator, ddp::DistributedDataParallel& net) {
  comm::ProcessGroup& group = accelerator.process_group();
  return {.group = group,
          .begin =
              [&accelerator, &net](run::Run& run) {
                ddp::connect(run, net);
                if (std::optional<run::KeptState> scaler = accelerator.scaler_state())
                  run.checkpoints().add_state(std::move(*scaler));
              },
          .complete =
              [&net](run::StepResult& result) {
                result.loss = net.average(result.loss);
                result.exposed_communication = net.exposed_communication();
              },
          .check =
              [&group, &net](const run::Run& run) {
                if (ddp::replica_check_is_due(run))
                  ddp::require_equal_parameters(net.module(), group, concat("after step ", run.step()));
              },
          .skips_updates = accelerator.scaler() != nullptr};
}

}  // namespace lockstep::accelerate
