#include "06_gpt_ddp/ddp/target_counter.hpp"

#include <span>

#include "autograd/functions.hpp"
#include "comm/buffer.hpp"

namespace lockstep::ddp {

void TargetCounter::begin_step(const data::Batch& batch) {
  own_ = {autograd::target_count(batch.targets), batch.size()};
  of_all_ranks_ = std::make_shared<Counts>(Counts{own_[0], has_samples() ? own_[1] : kNoSamples});
  comm::Buffer counts = comm::host_buffer(std::span(*of_all_ranks_));
  counts.keep_alive = of_all_ranks_;
  reduction_ = group_->all_reduce(counts);
}

// Samples, not targets: a step with data may have no targets.
std::int64_t TargetCounter::samples_of_all_ranks() {
  reduction_.synchronize();
  return of_all_ranks_->at(1) % kNoSamples;
}

std::int64_t TargetCounter::ranks_without_samples() {
  if (!of_all_ranks_) return 0;
  reduction_.synchronize();
  return of_all_ranks_->at(1) / kNoSamples;
}

double TargetCounter::weight() {
  if (!of_all_ranks_) return 1;
  reduction_.synchronize();
  const std::int64_t all_targets = of_all_ranks_->at(0);
  if (all_targets == 0) return 0;  // a step of samples whose targets are all ignored
  return static_cast<double>(own_[0] * group_->world_size()) / static_cast<double>(all_targets);
}

}  // namespace lockstep::ddp
