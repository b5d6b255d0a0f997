#include "11_pipeline_parallel/pipeline.hpp"

#include <vector>

#include "base/error.hpp"
#include "comm/buffer.hpp"

namespace lockstep::pipeline {
namespace {

std::chrono::nanoseconds time_waited(const StageLinks& links) {
  std::chrono::nanoseconds waited{0};
  links.for_each([&](const StageLink& link) { waited += link.time_waited(); });
  return waited;
}

}  // namespace

Range blocks_of(const nn::GptConfig& config, const Group& group) {
  const std::int64_t blocks = config.layer_count, ranks = group.world_size(), rank = group.rank();
  return {blocks * rank / ranks, blocks * (rank + 1) / ranks};
}

Pipeline::Pipeline(const nn::GptPart& part, Group& group, ScheduleKind kind)
    : group_(group), kind_(kind), links_(make_links(group)), stage_(part, links_) {
  const Range expected = blocks_of(part.config(), group), found = part.blocks();
  require(found.begin == expected.begin && found.end == expected.end, "pipeline: rank ", group.rank(), " has blocks ",
          found.begin, " to ", found.end, " of the model, but its stage has ", expected.begin, " to ", expected.end);
}

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
