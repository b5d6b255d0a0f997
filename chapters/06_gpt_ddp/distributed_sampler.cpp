#include "06_gpt_ddp/distributed_sampler.hpp"

#include <numeric>

#include "base/error.hpp"

namespace lockstep::ddp {
namespace {

void require_rank(int rank, int world_size) {
  require(world_size >= 1 && rank >= 0 && rank < world_size, "sampler: rank ", rank, " is not in [0, ", world_size,
          ")");
}

}  // namespace

DistributedSampler::DistributedSampler(std::int64_t dataset_size, int rank, int world_size,
                                       const DistributedSamplerOptions& options)
    : Sampler(dataset_size, options.seed), rank_(rank), world_size_(world_size), options_(options) {
  require_rank(rank, world_size);
  require(samples_per_epoch() > 0 || options_.remainder == Remainder::kKeep, "DistributedSampler: ", dataset_size,
          " samples leave none for each of ", world_size, " ranks when the uneven rest is dropped");
}

std::int64_t DistributedSampler::samples_per_epoch() const {
  return (positions_per_epoch() - rank_ + world_size_ - 1) / world_size_;  // rounded up: low ranks are dealt first
}

std::int64_t DistributedSampler::positions_for(std::int64_t samples) const noexcept {
  const std::int64_t rest = samples % world_size_;
  if (rest == 0 || options_.remainder == Remainder::kKeep) return samples;
  return options_.remainder == Remainder::kDrop ? samples - rest : samples - rest + world_size_;
}

std::vector<std::int64_t> DistributedSampler::indices_from(std::int64_t first_position) const {
  const std::int64_t samples = state().dataset_size;
  std::vector<std::int64_t> order(static_cast<std::size_t>(samples));
  if (options_.shuffle == Shuffle::kYes) {
    order = data::epoch_permutation(state().seed, state().epoch, samples);
  } else {
    std::iota(order.begin(), order.end(), std::int64_t{0});
  }
  // Deals the rest evenly, not the whole epoch, which may have begun at another world size.
  const std::int64_t end = first_position + positions_for(samples - first_position);
  std::vector<std::int64_t> own;
  for (std::int64_t position = first_position + rank_; position < end; position += world_size_) {
    own.push_back(order[static_cast<std::size_t>(position % samples)]);  // % samples: padding starts over
  }
  return own;
}

EvaluationSampler::EvaluationSampler(std::int64_t dataset_size, int rank, int world_size)
    : Sampler(dataset_size, 0), rank_(rank), world_size_(world_size) {
  require_rank(rank, world_size);
}

std::int64_t EvaluationSampler::samples_per_epoch() const {
  return (positions_per_epoch() - rank_ + world_size_ - 1) / world_size_;  // rounded up: low ranks are dealt first
}

std::vector<std::int64_t> EvaluationSampler::indices_from(std::int64_t first_position) const {
  std::vector<std::int64_t> own;
  for (std::int64_t index = first_position + rank_; index < positions_per_epoch(); index += world_size_) {
    own.push_back(index);
  }
  return own;
}

}  // namespace lockstep::ddp
