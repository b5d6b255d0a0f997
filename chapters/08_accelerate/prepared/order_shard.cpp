#include "08_accelerate/prepared/order_shard.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace lockstep::accelerate {
namespace {

std::int64_t rounded_up_quotient(std::int64_t count, std::int64_t divisor) { return (count + divisor - 1) / divisor; }

// The number of positions rank, rank + P, rank + 2P, ... below `end`.
std::int64_t dealt_to(int rank, int world_size, std::int64_t end) {
  return end <= rank ? 0 : rounded_up_quotient(end - rank, world_size);
}

}  // namespace

OrderShard::OrderShard(data::Sampler& whole, const ShardOptions& options, std::shared_ptr<GradientState> shared)
    : Sampler(whole.state().dataset_size, whole.state().seed),
      whole_(whole),
      options_(options),
      shared_(std::move(shared)) {
  const auto& [rank, world_size, batch_size, drop_last, even_batches] = options_;
  require(world_size >= 1 && rank >= 0 && rank < world_size, "loader: rank ", rank, " is not in [0, ", world_size, ")");
  require(batch_size >= 1, "loader: a batch of ", batch_size, " samples");
}

OrderShard::~OrderShard() { shared_->leave(*this); }

void OrderShard::end_iteration(std::int64_t iteration) noexcept {
  if (iteration == iteration_) shared_->leave(*this);
}

std::int64_t OrderShard::positions_for(std::int64_t samples) const noexcept {
  if (options_.drop_last) return samples - samples % global_batch_size();
  return options_.even_batches ? rounded_up_quotient(samples, options_.world_size) * options_.world_size : samples;
}

std::vector<std::int64_t> OrderShard::begin_iteration() {
  ++iteration_;
  shared_->leave(*this);  // an iteration left early whose iterator still exists
  const std::vector<std::int64_t> order = whole_.begin_iteration();
  samples_ = std::ssize(order);
  dealt_ = positions_for(samples_);
  handed_out_ = 0;
  const std::vector<std::int64_t> head = dealt_ > samples_ ? head_of_epoch() : std::vector<std::int64_t>();
  std::vector<std::int64_t> own;
  for (std::int64_t position = options_.rank; position < dealt_; position += options_.world_size) {
    const auto index = static_cast<std::size_t>(position);
    own.push_back(index < order.size() ? order[index] : head[(index - order.size()) % head.size()]);
  }
  return own;
}

// If the iteration continues an epoch, the rest no longer contains the epoch's start: asks for it again.
std::vector<std::int64_t> OrderShard::head_of_epoch() {
  const data::SamplerState here = whole_.state();
  data::SamplerState start = here;
  start.consumed = 0;
  whole_.load_state(start);
  std::vector<std::int64_t> head = whole_.begin_iteration();
  head.resize(std::min(head.size(), static_cast<std::size_t>(options_.world_size)));
  whole_.load_state(here);
  (void)whole_.begin_iteration();
  return head;
}

// Counts the samples of all ranks, not this rank's: low ranks may have one more.
void OrderShard::advance(std::int64_t) {
  const std::int64_t begin = handed_out_++ * global_batch_size();
  whole_.advance(std::clamp<std::int64_t>(dealt_ - begin, 0, global_batch_size()));
  shared_->enter(*this);
}

std::int64_t OrderShard::samples_per_epoch() const {
  return dealt_to(options_.rank, options_.world_size, positions_for(whole_.samples_per_epoch()));
}

std::int64_t OrderShard::batches_per_epoch() const {
  return rounded_up_quotient(positions_for(whole_.samples_per_epoch()), global_batch_size());
}

std::int64_t OrderShard::of_current_batch(std::int64_t positions) const noexcept {
  const std::int64_t begin = std::max<std::int64_t>(handed_out_ - 1, 0) * global_batch_size();
  return std::clamp<std::int64_t>(positions - begin, 0, global_batch_size());
}

std::int64_t OrderShard::real_samples() const noexcept { return of_current_batch(std::min(samples_, dealt_)); }

std::int64_t OrderShard::samples_of(int rank) const noexcept {
  return dealt_to(rank, options_.world_size, of_current_batch(dealt_));
}

std::vector<std::int64_t> OrderShard::indices_from(std::int64_t) const {
  throw ContractError("loader: a shard has no order of its own; begin_iteration() deals that of its sampler");
}

}  // namespace lockstep::accelerate
