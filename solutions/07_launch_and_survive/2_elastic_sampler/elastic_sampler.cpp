#include "07_launch_and_survive/2_elastic_sampler/elastic_sampler.hpp"

namespace lockstep::elastic {

std::int64_t ElasticShard::share_of(std::int64_t batch) const {
  // SOLUTION(07.2) share_of: count the positions rank, rank + W, ... below the batch's size
  const std::int64_t extra = batch % world_size_;  // of low ranks, one each
  return batch / world_size_ + (rank_ < extra ? 1 : 0);
  // END SOLUTION
}

std::vector<std::int64_t> ElasticShard::indices() const {
  // SOLUTION(07.2) indices: deal each batch that is left by itself
  const std::vector<std::int64_t> order = order_of_epoch_(state_.epoch);
  const std::int64_t size = options_.global_batch_size;
  std::vector<std::int64_t> own;
  for (std::int64_t first = state_.consumed; first < options_.dataset_size; first += size) {
    const std::int64_t batch = std::min(size, options_.dataset_size - first);
    if (batch < size && !options_.keeps_short_batch) break;
    for (std::int64_t card = rank_; card < batch; card += world_size_)
      own.push_back(order[static_cast<std::size_t>(first + card)]);
  }
  return own;
  // END SOLUTION
}

void ElasticShard::advance() {
  // SOLUTION(07.2) advance: count the whole batch, and find out whether another one is left
  state_.consumed += next_batch_size();
  const std::int64_t left = options_.dataset_size - state_.consumed;
  const std::int64_t smallest = options_.keeps_short_batch ? 1 : options_.global_batch_size;
  if (left < smallest) state_ = {.epoch = state_.epoch + 1, .consumed = 0};
  // END SOLUTION
}

double ElasticShard::gradient_scale() const {
  // SOLUTION(07.2) gradient_scale: weigh this rank by its part of the batch, and undo DDP's division
  const std::int64_t batch = next_batch_size();
  return static_cast<double>(world_size_ * share_of(batch)) / static_cast<double>(batch);
  // END SOLUTION
}

}  // namespace lockstep::elastic
