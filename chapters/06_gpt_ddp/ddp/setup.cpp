#include "06_gpt_ddp/ddp/setup.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "03_nccl/choose_backend.hpp"
#include "base/affinity.hpp"
#include "launch/cores.hpp"

namespace lockstep::ddp {

std::unique_ptr<comm::ProcessGroup> make_group(const run::TrainOptions& options, comm::JobContext job, Device device) {
  return backend::make_process_group(options.parallel.backend, std::move(job),
                                     {.device = device, .share_gpu = options.device.share_gpu});
}

DistributedSamplerOptions sampler_options(const run::TrainOptions& options) {
  return {.seed = options.seed, .remainder = options.uneven ? Remainder::kKeep : Remainder::kDrop};
}

DdpOptions ddp_options(const run::TrainOptions& options) {
  return {.average_gradients = !options.parallel.no_sync,
          .comm_hook = options.parallel.compress_gradients == "bf16" ? bf16_compress_hook() : all_reduce_hook};
}

nn::InitScope init_scope(const run::TrainOptions& options, int rank, Device device) {
  return rank == 0 ? nn::InitScope(options.seed, device) : nn::InitScope::skip_init(device);
}

void connect(run::Run& run, DistributedDataParallel& ddp) {
  run.checkpoints().add_state(
      {.name = "bucket_order",
       .save = [&ddp] { return nlohmann::json(ddp.bucket_order()); },
       .load = [&ddp](const nlohmann::json& names) { ddp.set_bucket_order(names.get<std::vector<std::string>>()); }});
  ddp.set_advice([&run] { return run.checkpoints().way_back(); });
}

Device use_device(const run::TrainOptions& options, int local_rank, int local_world_size) {
  if (options.device.bind_cores) restrict_to_cpus(launch::share_of_cpus(local_rank, local_world_size));
  return options.device_of(local_rank);
}

}  // namespace lockstep::ddp
