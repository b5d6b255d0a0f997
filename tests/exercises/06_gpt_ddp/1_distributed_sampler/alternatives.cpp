#include "exercise/alternatives.hpp"

#include <cstddef>
#include <vector>

#include "06_gpt_ddp/1_distributed_sampler/distributed_sampler.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"modulo", "nothing is padded or cut: positions are taken modulo the number of samples"},
    {"deals", "the whole epoch is dealt like cards, one sample after another, and each rank keeps its own"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {

using exercise::is_alternative;

std::vector<std::int64_t> indices_of_rank(int rank, const EpochOptions& options) {
  const std::int64_t ranks = options.world_size, samples = options.sample_count;
  const bool pads = options.remainder == UnevenSamples::kPad;
  const std::int64_t each = pads ? (samples + ranks - 1) / ranks : samples / ranks;
  const std::vector<std::int64_t> order = permutation(samples, options.seed, options.epoch);
  std::vector<std::int64_t> own;
  if (is_alternative("modulo")) {
    for (std::int64_t i = 0; i < each; ++i)
      own.push_back(order[static_cast<std::size_t>((rank + i * ranks) % samples)]);
    return own;
  }
  std::size_t next = 0;
  for (std::int64_t round = 0; round < each; ++round)
    for (int player = 0; player < ranks; ++player, ++next) {
      if (next == order.size()) next = 0;
      if (player == rank) own.push_back(order[next]);
    }
  return own;
}

}  // namespace lockstep::ddp
