#include "06_gpt_ddp/1_distributed_sampler/distributed_sampler.hpp"

namespace lockstep::ddp {

std::vector<std::int64_t> indices_of_rank(int rank, const EpochOptions& options) {
  // SOLUTION(06.1) indices_of_rank: make the epoch's order, pad or cut it, and take every world_size-th sample
  const std::int64_t samples = options.sample_count, ranks = options.world_size;
  const std::vector<std::int64_t> order = permutation(samples, options.seed, options.epoch);
  // Rounded up, so that padding fills the last round; or down, so that an incomplete round is left out.
  const std::int64_t rounds =
      options.remainder == UnevenSamples::kPad ? (samples + ranks - 1) / ranks : samples / ranks;
  std::vector<std::int64_t> own;
  for (std::int64_t round = 0; round < rounds; ++round) {
    const std::int64_t position = round * ranks + rank;
    own.push_back(order[static_cast<std::size_t>(position % samples)]);  // % samples: padding begins at the front again
  }
  return own;
  // END SOLUTION
}

}  // namespace lockstep::ddp
