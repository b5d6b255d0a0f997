#include "06_gpt_ddp/distributed_data_parallel.hpp"

#include <algorithm>
#include <typeinfo>
#include <utility>

#include "06_gpt_ddp/ladder/naive_ddp.hpp"
#include "06_gpt_ddp/replica_check.hpp"
#include "autograd/node.hpp"
#include "base/error.hpp"

namespace lockstep::ddp {
namespace {

bool is_wrapped(const nn::NamedParameter& named) {
  const auto is_wrapper = [](const autograd::GradientObserver* observer) {
    return typeid(*observer) == typeid(DistributedDataParallel);
  };
  return std::ranges::any_of(named.parameter.observers(), is_wrapper);
}

std::vector<nn::NamedParameter> free_parameters(const nn::Module& module) {
  std::vector<nn::NamedParameter> parameters = nn::trained_parameters(module);
  require(!parameters.empty(), "ddp: the module has no parameters to train, so that there is nothing to average");
  for (const nn::NamedParameter& named : parameters)
    require(!is_wrapped(named), "parameter ", named.name, " is averaged already: a module can be wrapped once");
  return parameters;
}

// Skips parameters of another wrapper, which checks them itself.
std::vector<nn::NamedParameter> frozen_parameters(const nn::Module& module) {
  std::vector<nn::NamedParameter> frozen = module.named_parameters();
  std::erase_if(frozen, [](const auto& named) { return named.parameter.requires_grad() || is_wrapped(named); });
  return frozen;
}

// All ranks agree on names, shapes and dtypes before the first element moves.
std::vector<nn::NamedParameter> made_equal(std::vector<nn::NamedParameter> parameters, const nn::Module& module,
                                           comm::ProcessGroup& group) {
  require_equal_layout(module, group);
  broadcast_parameters(module, group);
  return parameters;
}

void issue_broadcasts(std::span<const nn::NamedBuffer> buffers, comm::ProcessGroup& group,
                      std::vector<comm::Work>& works) {
  for (const nn::NamedBuffer& named : buffers) works.push_back(group.broadcast(as_buffer(named.value), 0));
}

// For each bucket, the parameters whose gradients it waits for.
std::vector<std::vector<std::size_t>> awaited_parameters(const GradientBuckets& buckets, const ParameterUsage& usage) {
  std::vector<std::vector<std::size_t>> awaited;
  for (const Bucket& bucket : buckets.all()) {
    awaited.emplace_back(bucket.parameters);
    std::erase_if(awaited.back(), [&](std::size_t parameter) { return !usage.is_awaited(parameter); });
  }
  return awaited;
}

}  // namespace

DistributedDataParallel::DistributedDataParallel(nn::Module& module, comm::ProcessGroup& group,
                                                 const DdpOptions& options)
    : StepProtocol(group),
      module_(module),
      group_(group),
      options_(options),
      buffers_(options.broadcast_buffers ? module.named_buffers() : std::vector<nn::NamedBuffer>()),
      buckets_(made_equal(free_parameters(module), module, group), group, options.bucket_limits),
      audit_(group, buckets_.parameters(), frozen_parameters(module), options),
      exchange_(buckets_, audit_, targets(), group, options.comm_hook) {
  broadcast_buffers();
  use_layout();
  register_module("module", module_);
  for (const nn::NamedParameter& named : buckets_.parameters())
    index_of_.emplace(named.parameter.node().get(), index_of_.size());
  // In messages, parameters keep the model's names.
  for (const nn::NamedParameter& named : audit_.watched()) named.parameter.node()->name = named.name;
  // Last, because nothing can fail after it: no destructor runs if a constructor throws.
  for (const nn::NamedParameter& named : audit_.watched()) named.parameter.add_observer(this);
}

DistributedDataParallel::~DistributedDataParallel() {
  for (const nn::NamedParameter& named : audit_.watched()) named.parameter.remove_observer(this);
}

void DistributedDataParallel::broadcast_buffers() {
  std::vector<comm::Work> works;
  issue_broadcasts(buffers_, group_, works);
  for (comm::Work& work : works) work.synchronize();
}

void DistributedDataParallel::begin_step(std::optional<std::int64_t> step) {
  if (step) audit_.set_step(*step + 1);
  broadcast_buffers();
}

void DistributedDataParallel::set_bucket_order(std::span<const std::string> names) {
  buckets_.set_order(names);
  use_layout();
}

void DistributedDataParallel::use_layout() {
  audit_.lay_out(buckets_.all());
  reducer_.emplace(awaited_parameters(buckets_, audit_.usage()), exchange_);
}

// The first step's gradients only determine the order. They leave at its end, from buckets in that order, so that the
// first step adds in the same order as all later ones.
void DistributedDataParallel::on_gradient_ready(autograd::Variable& parameter) {
  const auto found = index_of_.find(parameter.node().get());
  if (!is_syncing() || found == index_of_.end()) return;
  audit_.usage().on_gradient_ready(found->second);
  if (!buckets_.is_settled()) return ready_order_.push_back(found->second);
  if (audit_.usage().is_awaited(found->second)) reducer_->on_gradient_ready(found->second);
}

void DistributedDataParallel::on_backward_end() {
  if (!is_syncing()) return;
  audit_.end_backward();
  finish_step();
}

void DistributedDataParallel::contribute_nothing() {
  if (!options_.average_gradients) return;
  audit_.usage().fill_all();
  finish_step();
}

// Runs on all ranks once per step. It ends with rank 0's buffers on all ranks, for the next forward or an evaluation.
void DistributedDataParallel::finish_step() {
  const auto begin = std::chrono::steady_clock::now();
  if (!buckets_.is_settled()) {
    buckets_.settle(std::exchange(ready_order_, {}), group_);
    use_layout();
  }
  reducer_->on_backward_end();
  std::vector<comm::Work> works = exchange_.take_works();
  issue_broadcasts(buffers_, group_, works);
  audit_.end_step(works, begin);
  // With a static graph the first step has shown which parameters are awaited.
  if (options_.static_graph) reducer_.emplace(awaited_parameters(buckets_, audit_.usage()), exchange_);
}

double DistributedDataParallel::average(double value) {
  const double mean = StepProtocol::average(value);
  require_sound_gradients();  // the host has waited for the other ranks' devices
  return mean;
}

}  // namespace lockstep::ddp
