// The end of a step: on the CPU the host waits for it, on a device it issues it and goes on.
#include <algorithm>
#include <chrono>
#include <utility>

#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "base/error.hpp"

namespace lockstep::ddp {

// All ranks come here once per step. What is left leaves, zeros included, and rank 0's buffers; then the ranks tell
// each other how many faults they have found, because an error must end the step on all of them.
void DistributedDataParallel::finish_step() {
  const auto begin = std::chrono::steady_clock::now();
  if (!is_rebuilt_) rebuild_buckets();
  while (next_to_launch_ < buckets_.size()) launch_next_bucket();
  issue_buffers(in_flight_);  // so that the next forward, or an evaluation, has the same ones on all ranks
  if (verdict_ && !is_asking_for_use()) return finish_step_on_device();
  if (verdict_) verdict_->take_own(faults_);
  in_flight_.push_back(reduce_fault_counts());
  for (comm::Work& work : in_flight_) work.synchronize();
  exposed_communication_ = std::chrono::steady_clock::now() - begin;
  evaluate_census();
  const bool has_faults = census_.span<std::int64_t>().front() > 0;
  const std::vector<GradientFault> faults = std::exchange(faults_, std::vector<GradientFault>(watched_.size()));
  forget_step();
  if (has_faults) throw_gradient_faults(group_, watched_, faults, step_, advice_);
  ++step_;
}

bool DistributedDataParallel::is_asking_for_use() const noexcept {
  return options_.static_graph ? is_unused_everywhere_.empty() : options_.find_unused_parameters;
}

comm::Work DistributedDataParallel::reduce_fault_counts() {
  std::vector<std::int64_t> row{
      std::ranges::count_if(faults_, [](GradientFault fault) { return fault != GradientFault::kNone; })};
  if (is_asking_for_use()) row.insert(row.end(), is_used_.begin(), is_used_.end());
  census_ = Tensor::from(std::span<const std::int64_t>(row), {static_cast<std::int64_t>(row.size())});
  return group_.all_reduce(as_buffer(census_));  // the tensor's storage outlives a collective that fails
}

// A parameter that no rank has used stays without a gradient, as it would in a single process.
void DistributedDataParallel::evaluate_census() {
  if (is_asking_for_use()) {
    const auto users = census_.span<std::int64_t>().subspan(1);
    is_unused_everywhere_.resize(parameters_.size());
    for (std::size_t i = 0; i < parameters_.size(); ++i) is_unused_everywhere_[i] = users[i] == 0;
  }
  for (std::size_t i = 0; i < is_unused_everywhere_.size(); ++i) {
    if (is_unused_everywhere_[i]) parameters_[i].parameter.zero_grad();
  }
}

// The host waits for the other hosts, so that no parameter is updated from ranks that disagree on what they do, but not
// for the device. Of the step before it the device has been done for a while.
void DistributedDataParallel::finish_step_on_device() {
  std::vector<GradientFault> faults = std::exchange(faults_, std::vector<GradientFault>(watched_.size()));
  try {
    require_sound_gradients();
  } catch (...) {
    forget_step();
    throw;
  }
  verdict_->end_step(group_, in_flight_, std::move(faults), step_);
  group_.require_agreement();
  evaluate_census();
  forget_step();
  ++step_;
}

void DistributedDataParallel::require_sound_gradients() {
  if (!verdict_) return;
  const auto refusal = verdict_->settle();
  exposed_communication_ = verdict_->exposed();
  if (refusal) throw_gradient_faults(group_, watched_, refusal->faults, refusal->step, advice_);
}

}  // namespace lockstep::ddp
