#include "07_launch_and_survive/elastic_sampler.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace lockstep::elastic {

ElasticSampler::ElasticSampler(std::int64_t dataset_size, int rank, int world_size,
                               const ElasticSamplerOptions& options)
    : Sampler(dataset_size, options.seed), rank_(rank), world_size_(world_size), options_(options) {
  require(world_size >= 1 && rank >= 0 && rank < world_size, "ElasticSampler: rank ", rank, " is not in [0, ",
          world_size, ")");
  require(options.global_batch_size >= world_size, "ElasticSampler: a global batch of ", options.global_batch_size,
          " has no sample for some of ", world_size, " ranks");
  require(options.remainder != ddp::Remainder::kPad, "ElasticSampler: a short batch is dropped or kept, not padded");
}

std::int64_t ElasticSampler::share_of(std::int64_t batch) const noexcept {
  return batch > rank_ ? (batch - rank_ + world_size_ - 1) / world_size_ : 0;
}

std::int64_t ElasticSampler::positions_per_epoch() const noexcept {
  const std::int64_t samples = state().dataset_size;
  return options_.remainder == ddp::Remainder::kKeep ? samples : samples - samples % options_.global_batch_size;
}

std::int64_t ElasticSampler::samples_per_epoch() const {
  const std::int64_t positions = positions_per_epoch(), batch = options_.global_batch_size;
  return positions / batch * share() + share_of(positions % batch);
}

void ElasticSampler::advance(std::int64_t samples_of_this_rank) {
  const std::int64_t batch = std::min(options_.global_batch_size, positions_per_epoch() - state().consumed);
  require(samples_of_this_rank == share_of(batch), "ElasticSampler: rank ", rank_, " took ", samples_of_this_rank,
          " samples, but its share of a global batch of ", batch, " is ", share_of(batch),
          "; give the loader batches of share() samples");
  Sampler::advance(batch);
}

std::vector<std::int64_t> ElasticSampler::indices_from(std::int64_t first_position) const {
  const std::vector<std::int64_t> order = data::epoch_permutation(state().seed, state().epoch, state().dataset_size);
  const std::int64_t end = positions_per_epoch();
  std::vector<std::int64_t> own;
  for (std::int64_t batch = first_position; batch < end; batch += options_.global_batch_size) {
    const std::int64_t batch_end = std::min(batch + options_.global_batch_size, end);
    for (std::int64_t position = batch + rank_; position < batch_end; position += world_size_)
      own.push_back(order[static_cast<std::size_t>(position)]);
  }
  return own;
}

}  // namespace lockstep::elastic
