#include "11_pipeline_parallel/pipeline.hpp"

#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/buffer.hpp"
#include "nn/gpt_parameters.hpp"

namespace lockstep::pipeline {
namespace {

std::chrono::nanoseconds time_waited(const StageLinks& links) {
  std::chrono::nanoseconds waited{0};
  links.for_each([&](const StageLink& link) { waited += link.time_waited(); });
  return waited;
}

// Each rank's part begins where the one before ends; all ranks find the same error. Returns the group.
Group& require_whole_model(const nn::GptPart& part, Group& group) {
  const auto ranks = static_cast<std::size_t>(group.world_size()), own = static_cast<std::size_t>(group.rank());
  std::vector<std::int64_t> begins(ranks + 1), ends(ranks);
  begins[own] = part.blocks().begin;
  ends[own] = part.blocks().end;
  for (std::vector<std::int64_t>* all : {&begins, &ends})
    group.all_reduce(comm::host_buffer(std::span(*all)), comm::ReduceOp::kSum, {.tag = "blocks"}).synchronize();
  begins.back() = part.config().layer_count;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (begins[0] == 0 && ends[rank] == begins[rank + 1]) continue;
    const int number = group.context().global_rank(static_cast<int>(rank));
    const std::string message =
        concat("pipeline: rank ", number, " has blocks ", begins[rank], " to ", ends[rank], " of the model, and ",
               begins[0] == 0 ? concat("the next part begins with block ", begins[rank + 1])
                              : "the first part must begin with block 0",
               "; make each part with pipeline::blocks_of()");
    group.prepare_common_error(message);
    throw ContractError(message);
  }
  return group;
}

}  // namespace

Range blocks_of(const nn::GptConfig& config, const Group& group, std::int64_t last_stage_blocks) {
  return nn::blocks_of(
      config, {.pipeline_rank = group.rank(), .pipeline = group.world_size(), .last_stage_blocks = last_stage_blocks});
}

Pipeline::Pipeline(const nn::GptPart& part, Group& group, ScheduleKind kind)
    : group_(group), kind_(kind), links_(make_links(require_whole_model(part, group))), stage_(part, links_) {}

double Pipeline::run(std::span<const run::MicroBatch> micro_batches, const StageObserver& observer) {
  const auto waited_before = time_waited(links_);
  const auto count = static_cast<int>(micro_batches.size());
  const double own_loss = run_list(make_schedule(kind_, group_.world_size(), count), micro_batches, observer);
  idle_ = time_waited(links_) - waited_before;
  return sum(own_loss);
}

double Pipeline::loss(const data::Batch& batch) {
  const std::vector<run::MicroBatch> whole{{batch.inputs, batch.targets, {}, 1}};
  return run_list(forward_only(group_.world_size(), 1), whole, {});
}

double Pipeline::sum(double value) const {
  group_.all_reduce(comm::host_buffer(std::span(&value, 1)), comm::ReduceOp::kSum, {.tag = "loss"}).synchronize();
  return value;
}

std::uint64_t Pipeline::bytes_sent() const {
  std::uint64_t bytes = 0;
  links_.for_each([&](const StageLink& link) { bytes += link.bytes_sent(); });
  return bytes;
}

double Pipeline::run_list(const Schedule& schedule, std::span<const run::MicroBatch> micro_batches,
                          const StageObserver& observer) {
  const std::vector<Action>& actions = schedule[static_cast<std::size_t>(group_.rank())];
  stage_.begin(micro_batches, actions, observer);
  run_actions(actions, stage_);
  return stage_.finish();
}

}  // namespace lockstep::pipeline
