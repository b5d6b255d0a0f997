#include "06_gpt_ddp/ddp/team.hpp"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "03_nccl/choose_backend.hpp"
#include "base/affinity.hpp"
#include "launch/cores.hpp"
#include "nn/init.hpp"

namespace lockstep::ddp {
namespace {

std::string share_from_rank_0(comm::ProcessGroup& group, std::string text) {
  auto bytes = static_cast<std::int64_t>(text.size());
  group.broadcast(comm::host_buffer(std::span(&bytes, 1)), 0).synchronize();
  // Characters travel as int32, a type that every backend moves.
  std::vector<std::int32_t> characters(text.begin(), text.end());
  characters.resize(static_cast<std::size_t>(bytes));
  group.broadcast(comm::host_buffer(std::span(characters)), 0).synchronize();
  return {characters.begin(), characters.end()};
}

}  // namespace

run::Team team_of(comm::ProcessGroup& group) {
  return {.rank = group.rank(),
          .world_size = group.world_size(),
          .backend = std::string(group.backend()),
          .sum = [&group](std::span<double> values) { group.all_reduce(comm::host_buffer(values)).synchronize(); },
          .share = [&group](const std::string& text) { return share_from_rank_0(group, text); },
          .abort = [&group](const std::string& reason) { group.abort(reason); },
          .record_to = [&group](std::shared_ptr<trace::Recorder> recorder) { group.record_to(std::move(recorder)); }};
}

std::unique_ptr<comm::ProcessGroup> make_group(const run::TrainOptions& options, comm::JobContext job) {
  return backend::make_process_group(options.backend, std::move(job),
                                     {.device = nn::default_device(), .share_gpu = options.share_gpu});
}

DistributedSamplerOptions sampler_options(const run::TrainOptions& options) {
  return {.seed = options.seed, .remainder = options.uneven ? Remainder::kKeep : Remainder::kDrop};
}

DdpOptions ddp_options(const run::TrainOptions& options) {
  return {.average_gradients = !options.no_sync,
          .comm_hook = options.compress_gradients == "bf16" ? bf16_compress_hook() : all_reduce_hook};
}

void use_device(const run::TrainOptions& options, int local_rank, int local_world_size) {
  nn::set_default_device(options.device_of(local_rank));
  if (options.bind_cores) restrict_to_cpus(launch::share_of_cpus(local_rank, local_world_size));
}

}  // namespace lockstep::ddp
