#include "06_gpt_ddp/distributed_data_parallel.hpp"

#include <algorithm>

#include "06_gpt_ddp/replica_check.hpp"
#include "base/error.hpp"

namespace lockstep::ddp {
namespace {

constexpr std::int64_t kViewAlignment = 64;  // bytes: one cache line, one AVX-512 register

// Where tensors and collectives meet: `comm` moves typed buffers, so a tensor is handed over as one. Its storage lives
// until the collective is done.
comm::Buffer as_buffer(const Tensor& tensor) {
  return {tensor.data(), tensor.count(), tensor.dtype(), tensor.device(), tensor.storage()};
}

std::int64_t round_up(std::int64_t bytes) { return (bytes + kViewAlignment - 1) / kViewAlignment * kViewAlignment; }

}  // namespace

DistributedDataParallel::DistributedDataParallel(nn::Module& module, comm::ProcessGroup& group,
                                                 const DdpOptions& options)
    : module_(module), group_(group), parameters_(module.named_parameters()) {
  bucket_of_.resize(parameters_.size());
  is_ready_.resize(parameters_.size());
  require_equal_layout(parameters_, group_);
  broadcast_parameters();
  lay_out_buckets(options);
  for (nn::NamedParameter& named : parameters_) {
    require(named.parameter.observer() == nullptr, "parameter ", named.name,
            " is already watched: a module can be wrapped once");
    named.parameter.set_observer(this);
  }
}

DistributedDataParallel::~DistributedDataParallel() {
  for (nn::NamedParameter& named : parameters_) named.parameter.set_observer(nullptr);
}

// All replicas start equal: whatever initialized them, rank 0's values count.
void DistributedDataParallel::broadcast_parameters() {
  constexpr int kRoot = 0;
  std::vector<comm::Work> works;
  for (const nn::NamedParameter& named : parameters_) {
    works.push_back(group_.broadcast(as_buffer(named.parameter.value()), kRoot));
  }
  for (comm::Work& work : works) work.synchronize();
}

// Backward produces gradients roughly in reverse order of registration, so the buckets are filled in that order and the
// first one can leave while most of backward is still to come.
void DistributedDataParallel::lay_out_buckets(const DdpOptions& options) {
  std::int64_t bytes_in_last = 0;
  for (std::size_t i = parameters_.size(); i-- > 0;) {
    const Tensor& value = parameters_[i].parameter.value();
    const std::int64_t limit = buckets_.size() <= 1 ? options.first_bucket_bytes : options.bucket_bytes;
    const bool has_other_dtype =
        !buckets_.empty() && parameters_[buckets_.back().parameters.front()].parameter.value().dtype() != value.dtype();
    if (buckets_.empty() || has_other_dtype || bytes_in_last + value.bytes() > limit) {
      buckets_.emplace_back();
      bytes_in_last = 0;
    }
    buckets_.back().parameters.push_back(i);
    bucket_of_[i] = buckets_.size() - 1;
    bytes_in_last += round_up(value.bytes());
  }
  for (Bucket& bucket : buckets_) allocate_bucket(bucket);
}

void DistributedDataParallel::allocate_bucket(Bucket& bucket) {
  const Tensor& first = parameters_[bucket.parameters.front()].parameter.value();
  std::int64_t bytes = 0;
  for (const std::size_t i : bucket.parameters) bytes += round_up(parameters_[i].parameter.value().bytes());
  const auto storage = group_.allocate(static_cast<std::size_t>(bytes), first.device());
  const auto element_bytes = static_cast<std::int64_t>(bytes_of(first.dtype()));
  bucket.gradients = Tensor::view_of(storage, 0, {bytes / element_bytes}, first.dtype());
  bucket.gradients.fill_zero();  // the gaps between views are sent too: they must hold numbers
  std::size_t offset = 0;
  for (const std::size_t i : bucket.parameters) {
    const Tensor& value = parameters_[i].parameter.value();
    parameters_[i].parameter.rebind_gradient(Tensor::view_of(storage, offset, value.shape(), value.dtype()));
    offset += static_cast<std::size_t>(round_up(value.bytes()));
  }
}

void DistributedDataParallel::on_gradient_ready(autograd::Variable& parameter) {
  if (no_sync_depth_ > 0) return;
  const auto found = std::ranges::find_if(
      parameters_, [&](const nn::NamedParameter& named) { return named.parameter.is_same(parameter); });
  const auto index = static_cast<std::size_t>(found - parameters_.begin());
  is_ready_[index] = true;
  ++buckets_[bucket_of_[index]].ready_count;
  launch_ready_buckets();
}

// Buckets leave in index order on every rank, even where a later one is complete first: all ranks must issue the same
// collectives in the same order.
void DistributedDataParallel::launch_ready_buckets() {
  while (next_to_launch_ < buckets_.size()) {
    Bucket& bucket = buckets_[next_to_launch_];
    if (bucket.ready_count < bucket.parameters.size()) return;
    in_flight_.push_back(group_.all_reduce(as_buffer(bucket.gradients), comm::ReduceOp::kMean));
    ++next_to_launch_;
  }
}

void DistributedDataParallel::on_backward_end() {
  if (no_sync_depth_ > 0) return;
  require_all_ready();
  const auto backward_end = std::chrono::steady_clock::now();
  for (comm::Work& work : in_flight_) work.synchronize();
  exposed_communication_ = std::chrono::steady_clock::now() - backward_end;
  in_flight_.clear();
  next_to_launch_ = 0;
  for (Bucket& bucket : buckets_) bucket.ready_count = 0;
  is_ready_.assign(parameters_.size(), false);
}

// A parameter that the loss does not depend on holds its bucket back for ever, here or on every other rank. Better an
// error in this step, on all ranks, than a hang.
void DistributedDataParallel::require_all_ready() {
  if (next_to_launch_ == buckets_.size()) return;
  std::string unused;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!is_ready_[i]) unused += concat(unused.empty() ? "" : ", ", parameters_[i].name);
  }
  const std::string message =
      concat("rank ", group_.rank(), ": backward gave no gradient to ", unused,
             "; every parameter must take part in the loss on every rank, or its bucket can never be averaged");
  group_.abort(message);
  throw ContractError(message);
}

}  // namespace lockstep::ddp
