#include "06_gpt_ddp/ddp/setup.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "03_nccl/choose_backend.hpp"
#include "base/affinity.hpp"
#include "comm/control/control_plane.hpp"
#include "device/memory_limit.hpp"
#include "launch/cores.hpp"

namespace lockstep::ddp {

namespace {

// A rank that --memory-limit stops says so on all ranks: they would only learn that it has left.
void tell_of_refused_allocations(const comm::JobContext& job) {
  on_refused_allocation([control = std::weak_ptr(job.control), rank = job.global_rank(job.rank)](const auto& message) {
    if (const auto plane = control.lock()) plane->abort({comm::FailureKind::kAborted, rank, message});
  });
}

}  // namespace

std::unique_ptr<comm::ProcessGroup> make_group(const run::ParallelOptions& parallel, const run::DeviceOptions& devices,
                                               comm::JobContext job, Device device) {
  if (!devices.memory_limit.empty()) tell_of_refused_allocations(job);
  return backend::make_process_group(parallel.backend, std::move(job),
                                     {.device = device, .share_gpu = devices.share_gpu});
}

DistributedSamplerOptions sampler_options(const run::RunOptions& options) {
  return {.seed = options.seed, .remainder = options.uneven ? Remainder::kKeep : Remainder::kDrop};
}

DdpOptions ddp_options(const run::ParallelOptions& parallel) {
  return {.average_gradients = !parallel.no_sync,
          .comm_hook = parallel.compress_gradients == "bf16" ? bf16_compress_hook() : all_reduce_hook};
}

nn::InitScope init_scope(std::uint64_t seed, int rank, Device device) {
  return rank == 0 ? nn::InitScope(seed, device) : nn::InitScope::skip_init(device);
}

run::KeptState bucket_order_state(DistributedDataParallel& ddp) {
  return {.name = "bucket_order",
          .save = [&ddp] { return nlohmann::json(ddp.bucket_order()); },
          .load = [&ddp](const nlohmann::json& names) { ddp.set_bucket_order(names.get<std::vector<std::string>>()); }};
}

void connect(run::Run& run, DistributedDataParallel& ddp) {
  run.checkpoints().add_state(bucket_order_state(ddp));
  ddp.set_advice([&run] { return run.checkpoints().way_back(); });
}

Device use_device(const run::RunOptions& options, int local_rank, int local_world_size) {
  if (options.device.bind_cores) restrict_to_cpus(launch::share_of_cpus(local_rank, local_world_size));
  return options.device_of(local_rank);
}

}  // namespace lockstep::ddp
