#include "06_gpt_ddp/distributed_data_parallel.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <typeinfo>
#include <utility>

#include "06_gpt_ddp/replica_check.hpp"
#include "autograd/node.hpp"
#include "base/error.hpp"
#include "kernels/ops.hpp"

namespace lockstep::ddp {
namespace {

constexpr int kRoot = 0;

// Backward produces gradients roughly in reverse order of registration: the first guess, until a step has shown more.
std::vector<std::size_t> reverse_order(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return order;
}

bool is_finite(const Tensor& tensor) {
  if (tensor.dtype() == DType::kFloat32) return kernels::is_finite(tensor);
  return std::ranges::all_of(tensor.span<double>(), [](double value) { return std::isfinite(value); });
}

bool is_wrapper(const autograd::GradientObserver* observer) {
  return typeid(*observer) == typeid(DistributedDataParallel);
}

// `trained`, then the module's other parameters, unless another wrapper has them.
std::vector<nn::NamedParameter> with_frozen(std::vector<nn::NamedParameter> trained, const nn::Module& module) {
  for (nn::NamedParameter& named : module.named_parameters()) {
    if (named.parameter.requires_grad() || std::ranges::any_of(named.parameter.observers(), is_wrapper)) continue;
    trained.push_back(std::move(named));
  }
  return trained;
}

void write_zeros(const autograd::Variable& parameter) { parameter.begin_gradient_write().first.fill_zero(); }

}  // namespace

DistributedDataParallel::DistributedDataParallel(nn::Module& module, comm::ProcessGroup& group,
                                                 const DdpOptions& options)
    : module_(module),
      group_(group),
      options_(options),
      parameters_(nn::trained_parameters(module)),
      watched_(with_frozen(parameters_, module)),
      buffers_(module.named_buffers()),
      faults_(watched_.size()),
      is_used_(parameters_.size()),
      is_filled_(parameters_.size()),
      no_sync_depth_(options.average_gradients ? 0 : 1) {
  require_free_parameters();
  require_equal_layout(module_, group_);
  broadcast_parameters();
  broadcast_buffers();
  if (const Device device = parameters_.front().parameter.value().device(); !device.is_cpu()) verdict_.emplace(device);
  fill_buckets(reverse_order(parameters_.size()));
  register_module("module", module_);
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    const nn::NamedParameter& named = watched_[i];
    named.parameter.node()->name = named.name;  // in messages parameters keep the names that the model gave them
    if (i < parameters_.size()) index_of_[named.parameter.node().get()] = i;
  }
  // Last, when nothing can fail any more: a constructor that throws runs no destructor.
  for (const nn::NamedParameter& named : watched_) named.parameter.add_observer(this);
}

void DistributedDataParallel::require_free_parameters() const {
  require(!parameters_.empty(), "ddp: the module has no parameters to train, so that there is nothing to average");
  for (const nn::NamedParameter& named : parameters_) {
    const bool is_wrapped = std::ranges::any_of(named.parameter.observers(), is_wrapper);
    require(!is_wrapped, "parameter ", named.name, " is averaged already: a module can be wrapped once");
  }
}

DistributedDataParallel::~DistributedDataParallel() {
  if (verdict_) verdict_->warn_of_unread(group_.context().log);
  for (const nn::NamedParameter& named : watched_) named.parameter.remove_observer(this);
}

// All replicas start equal: whatever initialized them, rank 0's values count.
void DistributedDataParallel::broadcast_parameters() {
  std::vector<comm::Work> works;
  for (const nn::NamedParameter& named : module_.named_parameters()) {  // frozen ones too
    works.push_back(group_.broadcast(as_buffer(named.parameter.value()), kRoot));
  }
  for (comm::Work& work : works) work.synchronize();
}

void DistributedDataParallel::broadcast_buffers() {
  std::vector<comm::Work> works;
  issue_buffers(works);
  for (comm::Work& work : works) work.synchronize();
}

void DistributedDataParallel::issue_buffers(std::vector<comm::Work>& works) const {
  if (!options_.broadcast_buffers) return;
  for (const nn::NamedBuffer& named : buffers_) works.push_back(group_.broadcast(as_buffer(named.value), kRoot));
}

void DistributedDataParallel::fill_buckets(std::span<const std::size_t> order) {
  buckets_ = lay_out_buckets(parameters_, order, options_.bucket_limits);
  bucket_of_.resize(parameters_.size());
  for (const Bucket& bucket : buckets_) {
    for (const std::size_t i : bucket.parameters) bucket_of_[i] = bucket.index;
  }
  if (!memory_) memory_ = group_.allocate(gradient_bytes(parameters_), parameters_.front().parameter.value().device());
  place_buckets(buckets_, parameters_, memory_);
  if (verdict_) verdict_->lay_out(buckets_);
}

// Buckets fill in the order in which rank 0's gradients became ready, which every rank must share even where its own
// was another; unused parameters come last. The first step's gradients are all there and none has left: they move into
// the new buckets and leave from these, so that the first step adds up in the order of all later ones.
void DistributedDataParallel::rebuild_buckets() {
  is_rebuilt_ = true;
  std::vector<std::int64_t> order(ready_order_.begin(), ready_order_.end());
  for (const std::size_t i : reverse_order(parameters_.size())) {
    if (std::ranges::find(ready_order_, i) == ready_order_.end()) order.push_back(static_cast<std::int64_t>(i));
  }
  group_.broadcast(comm::host_buffer(std::span(order)), kRoot).synchronize();
  fill_buckets(std::vector<std::size_t>(order.begin(), order.end()));
}

std::vector<std::string> DistributedDataParallel::bucket_order() const {
  return is_rebuilt_ ? names_in_order(buckets_, parameters_) : std::vector<std::string>();
}

void DistributedDataParallel::set_bucket_order(std::span<const std::string> names) {
  if (names.empty()) return;
  fill_buckets(indices_of(names, parameters_));
  is_rebuilt_ = true;
}

void DistributedDataParallel::on_gradient_ready(autograd::Variable& parameter) {
  if (!is_syncing()) return;
  const auto found = index_of_.find(parameter.node().get());
  if (found == index_of_.end()) return;  // no bucket has it: find_unaveraged()
  const std::size_t index = found->second;
  ready_order_.push_back(index);
  is_filled_[index] = false;
  if (is_awaited(index)) ++buckets_[bucket_of_[index]].ready_count;
  if (is_rebuilt_) launch_ready_buckets();
}

// False: a static graph has promised that this rank gets no gradient for it, so its bucket leaves without.
bool DistributedDataParallel::is_awaited(std::size_t index) const {
  return !options_.static_graph || is_used_first_.empty() || is_used_first_[index];
}

// Buckets leave in index order on every rank, even where a later one is complete first: all ranks must issue the same
// collectives in the same order.
void DistributedDataParallel::launch_ready_buckets() {
  while (next_to_launch_ < buckets_.size()) {
    const Bucket& bucket = buckets_[next_to_launch_];
    if (bucket.ready_count < bucket.parameters.size()) return;
    launch_next_bucket();
  }
}

void DistributedDataParallel::launch_next_bucket() {
  const Bucket& bucket = buckets_[next_to_launch_++];
  prepare(bucket);
  in_flight_.push_back(options_.comm_hook(group_, bucket));
}

// What is not written yet becomes zeros; what is not finite is found before the average spreads it over all ranks; and
// the mean over ranks becomes one over targets where ranks have unequal numbers of them.
void DistributedDataParallel::prepare(const Bucket& bucket) {
  for (const std::size_t i : bucket.parameters) {
    if (parameters_[i].parameter.has_gradient()) continue;
    write_zeros(parameters_[i].parameter);
    is_filled_[i] = true;
  }
  if (verdict_) {
    verdict_->count(bucket, options_.refuse_non_finite);
  } else if (options_.refuse_non_finite && !is_finite(bucket.gradients)) {
    mark_non_finite(bucket);
  }
  if (const double own_weight = weight(); own_weight != 1) kernels::scale(bucket.gradients, own_weight);
}

void DistributedDataParallel::mark_non_finite(const Bucket& bucket) {
  for (const std::size_t i : bucket.parameters) {
    if (!is_finite(parameters_[i].parameter.gradient())) faults_[i] = GradientFault::kNotFinite;
  }
}

void DistributedDataParallel::on_backward_end() {
  if (!is_syncing()) return;
  find_unused();
  find_unaveraged();
  finish_step();
}

void DistributedDataParallel::contribute_nothing() {
  if (!options_.average_gradients) return;
  for (const nn::NamedParameter& named : parameters_) write_zeros(named.parameter);
  is_used_.assign(parameters_.size(), false);
  finish_step();
}

// A parameter counts as used if it has a gradient, be it from an earlier micro-batch of the step.
void DistributedDataParallel::find_unused() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    is_used_[i] = parameters_[i].parameter.has_gradient() && !is_filled_[i];
    const bool is_missing = !options_.find_unused_parameters && !options_.static_graph && !is_used_[i];
    if (is_missing) faults_[i] = GradientFault::kMissing;
  }
  if (!options_.static_graph) return;
  if (is_used_first_.empty()) is_used_first_ = is_used_;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const bool is_new = !is_unused_everywhere_.empty() && is_unused_everywhere_[i] && is_used_[i];
    if (is_new || is_used_[i] != is_used_first_[i]) faults_[i] = GradientFault::kUnexpected;
  }
}

// Parameters that were frozen when the module was wrapped are in no bucket. Trained all the same, in this micro-batch
// or an earlier one of the step, they would drift apart without a word.
void DistributedDataParallel::find_unaveraged() {
  for (std::size_t i = parameters_.size(); i < watched_.size(); ++i) {
    if (watched_[i].parameter.has_gradient()) faults_[i] = GradientFault::kUnaveraged;
  }
}

void DistributedDataParallel::forget_step() {
  in_flight_.clear();
  ready_order_.clear();
  next_to_launch_ = 0;
  is_filled_.assign(parameters_.size(), false);
  for (Bucket& bucket : buckets_) {
    const auto absent = std::ranges::count_if(bucket.parameters, [this](std::size_t i) { return !is_awaited(i); });
    bucket.ready_count = static_cast<std::size_t>(absent);
  }
}

}  // namespace lockstep::ddp
