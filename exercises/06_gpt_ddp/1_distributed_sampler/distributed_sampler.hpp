#pragma once
/// @file
/// Given: the sampler of exercise 06.1 as its callers see it, and the random order that it shares out.
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/philox.hpp"
#include "exercise/todo.hpp"

namespace lockstep::ddp {

/// The rule if the number of ranks does not divide the number of samples.
enum class UnevenSamples {
  kPad,  ///< Samples from the front of the epoch's order are repeated until all ranks have equally many.
  kDrop  ///< Samples at the end of the epoch's order are left out until all ranks have equally many.
};

/// The samples that the ranks share out; the same on all ranks.
struct EpochOptions {
  std::int64_t sample_count = 0;  ///< Samples in the dataset; at least 1.
  int world_size = 1;             ///< Ranks that share them; at least 1.
  std::uint64_t seed = 0;         ///< Of the whole training run.
  std::int64_t epoch = 0;         ///< Number of this pass over the data, from 0.
  UnevenSamples remainder = UnevenSamples::kPad;
};

/// The numbers 0 to count - 1 in random order. The same arguments give the same order on every rank.
/// @param count  How many numbers. @param seed  Of the whole training run.
/// @param epoch  Each epoch of a run has an order of its own.
[[nodiscard]] inline std::vector<std::int64_t> permutation(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  PhiloxSequence random(seed, static_cast<std::uint64_t>(epoch));
  for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random.next_below(left)]);
  return order;
}

/// The samples that one rank trains on in one epoch, in the order in which it uses them: those at the positions rank,
/// rank + world_size, rank + 2 * world_size and so on of the epoch's order, padded or cut so that all ranks have
/// equally many.
///
/// @param rank  In [0, world_size). @param options  What is shared out.
/// @return  Numbers in [0, sample_count). Empty if dropping leaves nothing.
[[nodiscard]] std::vector<std::int64_t> indices_of_rank(int rank, const EpochOptions& options);

}  // namespace lockstep::ddp
