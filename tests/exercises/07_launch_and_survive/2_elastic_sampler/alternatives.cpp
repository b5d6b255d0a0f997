#include "exercise/alternatives.hpp"

#include "07_launch_and_survive/2_elastic_sampler/elastic_sampler.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"counts_one_by_one", "shares are counted position by position, and indices() asks of each position whose it is"},
    {"closed_form", "one expression for the share, and the batch's numbers from its position in the epoch"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::elastic {

using exercise::is_alternative;

std::int64_t ElasticShard::share_of(std::int64_t batch) const {
  if (is_alternative("closed_form")) return batch / world_size_ + (rank_ < batch % world_size_ ? 1 : 0);
  std::int64_t share = 0;
  for (std::int64_t position = rank_; position < batch; position += world_size_) ++share;
  return share;
}

std::vector<std::int64_t> ElasticShard::indices() const {
  const auto order = order_of_epoch_(state_.epoch);
  std::vector<std::int64_t> own;
  for (std::int64_t at = state_.consumed; at < options_.dataset_size; ++at) {
    const std::int64_t since = at - state_.consumed, batch = since / options_.global_batch_size;
    const std::int64_t end = state_.consumed + (batch + 1) * options_.global_batch_size;
    if (end > options_.dataset_size && !options_.keeps_short_batch) break;
    if (since % options_.global_batch_size % world_size_ == rank_)
      own.push_back(order.at(static_cast<std::size_t>(at)));
  }
  return own;
}

void ElasticShard::advance() {
  state_.consumed += next_batch_size();
  const std::int64_t left = options_.dataset_size - state_.consumed;
  const bool is_over = left == 0 || (left < options_.global_batch_size && !options_.keeps_short_batch);
  if (!is_over) return;
  ++state_.epoch;
  state_.consumed = 0;
}

double ElasticShard::gradient_scale() const {
  const auto batch = static_cast<double>(next_batch_size());
  return static_cast<double>(share_of(next_batch_size()) * world_size_) / batch;
}

}  // namespace lockstep::elastic
