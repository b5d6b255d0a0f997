#include "10_tensor_parallel/5_random_numbers/random_numbers.hpp"

namespace lockstep::tensor_parallel {

std::uint64_t seed_for(const Draw& draw, const Place& place) {
  // SOLUTION(10.5) seed_for: which numbers of the rank's place belong into which seed?
  const bool has_own_samples = draw.purpose == Purpose::kStreamDropout || draw.purpose == Purpose::kRowsDropout ||
                               draw.purpose == Purpose::kAttentionDropout;
  const bool has_own_part = draw.purpose == Purpose::kCutWeights || draw.purpose == Purpose::kRowsDropout ||
                            draw.purpose == Purpose::kAttentionDropout;
  std::uint64_t seed = mix64(draw.seed, static_cast<std::uint64_t>(draw.purpose));
  for (const std::int64_t number : {draw.layer, draw.step, draw.micro_batch})
    seed = mix64(seed, static_cast<std::uint64_t>(number));
  seed = mix64(seed, has_own_samples ? static_cast<std::uint64_t>(place.data_rank) : 0);
  return mix64(seed, has_own_part ? static_cast<std::uint64_t>(place.tensor_rank) : 0);
  // END SOLUTION
}

void drop_part(std::span<float> elements, const Dropout& dropout, const Part& part) {
  // SOLUTION(10.5) drop_part: which sample does an element belong to, and where is it in the whole one?
  const auto mixed = [](std::uint64_t key, std::int64_t number) {
    return mix64(key, static_cast<std::uint64_t>(number));
  };
  const std::uint64_t key = mixed(mixed(dropout.seed, dropout.step), dropout.layer);
  const auto count = static_cast<std::int64_t>(elements.size());
  const bool has_heads = part.cut == Cut::kHeads;
  // Heads are a part of each sample, and rows are a part of the batch.
  const std::int64_t run =
      has_heads ? part.width / part.ranks * part.positions * part.positions : part.positions * part.width;
  const std::int64_t first_of_batch = part.cut == Cut::kRows ? part.rank * count : 0;
  const std::int64_t first_of_sample = has_heads ? part.rank * run : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t sample = (first_of_batch + i) / run, place = first_of_sample + (first_of_batch + i) % run;
    const std::uint64_t word = mixed(mixed(key, part.samples[static_cast<std::size_t>(sample)]), place);
    float& element = elements[static_cast<std::size_t>(i)];
    const bool is_dropped = uniform_float(static_cast<std::uint32_t>(word)) < dropout.probability;
    element = is_dropped ? 0.0F : element / (1 - dropout.probability);
  }
  // END SOLUTION
}

}  // namespace lockstep::tensor_parallel
