#include <algorithm>

#include "06_gpt_ddp/1_distributed_sampler/distributed_sampler.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"contiguous_blocks", "each rank takes a contiguous block of the epoch's order",
     "Deal the samples out like cards: rank 0 gets positions 0, P, 2P and so on."},
    {"ignores_epoch", "every epoch has the order of epoch 0", "Pass options.epoch to permutation()."},
    {"seed_of_each_rank", "each rank shuffles with a seed of its own, so the ranks share out different orders",
     "All ranks must make the same order: the rank only decides which positions to take."},
    {"no_padding", "nothing is repeated with UnevenSamples::kPad, so low ranks have one sample more than high ranks",
     "How long must the order be so that each rank takes equally many? Fill it up from its front."},
    {"pads_with_own_samples", "a rank whose share is too short repeats its own first sample",
     "Position sample_count of the padded order holds the order's first sample, whichever rank takes it."},
    {"drops_on_high_ranks_only", "with UnevenSamples::kDrop low ranks keep one sample more than high ranks",
     "Cut the order to a multiple of world_size before sharing it out."},
    {"repeats_the_front_once", "the padding is never longer than the order itself, which is too short for few samples",
     "With 2 samples and 5 ranks, 3 positions are to be filled. What comes after the second?"},
    {"pads_with_zeros", "the order is filled up with sample 0",
     "resize() adds zeros; what belongs there is the order's front."},
    {"cuts_before_shuffling", "with UnevenSamples::kDrop only the first samples of the dataset are shuffled",
     "The same samples would be missing in every epoch. Shuffle all of them, then cut."},
    {"keeps_the_first_order", "the order of the first call is kept for all later ones",
     "A static variable is made once. Each epoch has an order of its own."},
    {"never_shuffles", "the samples are used in the order of the dataset", "permutation() makes the epoch's order."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {

using exercise::is_mistake;

std::vector<std::int64_t> indices_of_rank(int rank, const EpochOptions& options) {
  const auto ranks = static_cast<std::size_t>(options.world_size), first = static_cast<std::size_t>(rank);
  const std::uint64_t seed = options.seed + (is_mistake("seed_of_each_rank") ? static_cast<std::uint64_t>(rank) : 0);
  const bool cuts_first = options.remainder == UnevenSamples::kDrop && is_mistake("cuts_before_shuffling");
  const std::int64_t kept = options.sample_count - (cuts_first ? options.sample_count % options.world_size : 0);
  std::vector<std::int64_t> order = permutation(kept, seed, is_mistake("ignores_epoch") ? 0 : options.epoch);
  static const std::vector<std::int64_t> order_of_first_call = order;
  if (is_mistake("keeps_the_first_order")) order = order_of_first_call;
  if (is_mistake("never_shuffles")) std::ranges::sort(order);
  const std::size_t samples = order.size();
  if (options.remainder == UnevenSamples::kDrop) {
    if (!is_mistake("drops_on_high_ranks_only")) order.resize(samples / ranks * ranks);
  } else if (!is_mistake("no_padding")) {
    std::size_t padding = (ranks - samples % ranks) % ranks;
    if (is_mistake("repeats_the_front_once")) padding = std::min(padding, samples);
    for (std::size_t i = 0; i < padding; ++i)
      order.push_back(is_mistake("pads_with_zeros") ? 0
                                                    : order[is_mistake("pads_with_own_samples") ? first % samples : i]);
  }
  std::vector<std::int64_t> own;
  if (is_mistake("contiguous_blocks")) {
    const std::size_t count = order.size() / ranks;
    for (std::size_t i = 0; i < count; ++i) own.push_back(order[first * count + i]);
  } else {
    for (std::size_t position = first; position < order.size(); position += ranks) own.push_back(order[position]);
  }
  return own;
}

}  // namespace lockstep::ddp
