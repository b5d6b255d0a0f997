#include "data/sampler.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/philox.hpp"

namespace lockstep::data {

std::vector<std::int64_t> epoch_permutation(std::uint64_t seed, std::int64_t epoch, std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  PhiloxSequence words(seed, static_cast<std::uint64_t>(epoch));
  for (std::size_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[words.next_below(left)]);  // swap the last remaining one with the drawn one
  return order;
}

Sampler::Sampler(std::int64_t dataset_size, std::uint64_t seed) : state_{.seed = seed, .dataset_size = dataset_size} {
  require(dataset_size >= 1, "a sampler for a dataset of ", dataset_size, " samples");
}

void Sampler::set_epoch(std::int64_t epoch) {
  require(epoch >= 0, "epoch ", epoch, " is negative");
  if (epoch == state_.epoch) return;
  state_.epoch = epoch;
  state_.consumed = 0;
  resume_position_ = 0;
}

void Sampler::require_loadable(const SamplerState& state) const {
  if (state.dataset_size != state_.dataset_size)
    throw FormatError(concat("cannot resume: the checkpoint was made on a dataset of ", state.dataset_size,
                             " samples, this one has ", state_.dataset_size, "; use the same data and context length"));
  if (state.epoch < 0 || state.consumed < 0)
    throw FormatError(concat("cannot resume: epoch ", state.epoch, " with ", state.consumed,
                             " samples consumed is not a sampler's state"));
}

void Sampler::load_state(const SamplerState& state) {
  require_loadable(state);
  state_ = state;
  // At another world size an epoch may have more padding: it ends when all samples are done.
  if (state_.consumed >= std::min(positions_per_epoch(), state_.dataset_size)) {
    ++state_.epoch;
    state_.consumed = 0;
  }
  resume_position_ = state_.consumed;
}

std::vector<std::int64_t> Sampler::begin_iteration() {
  state_.consumed = std::exchange(resume_position_, 0);
  return indices_from(state_.consumed);
}

void Sampler::advance(std::int64_t samples_of_this_rank) { state_.consumed += samples_of_this_rank * replica_count(); }

std::vector<std::int64_t> SequentialSampler::indices_from(std::int64_t first_position) const {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(state().dataset_size - first_position));
  std::iota(indices.begin(), indices.end(), first_position);
  return indices;
}

std::vector<std::int64_t> RandomSampler::indices_from(std::int64_t first_position) const {
  std::vector<std::int64_t> order = epoch_permutation(state().seed, state().epoch, state().dataset_size);
  order.erase(order.begin(), order.begin() + first_position);
  return order;
}

}  // namespace lockstep::data
