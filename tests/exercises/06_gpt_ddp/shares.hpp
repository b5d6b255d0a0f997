#pragma once
/// @file
/// Gradients of which a mean says whose are in it, for the judges of this chapter.
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {

/// The contribution of rank r to every element: the mean over all ranks is then the sum of the powers of 8.
[[nodiscard]] inline float share_in_mean(int rank, int world_size) {
  return static_cast<float>(world_size) * static_cast<float>(std::int64_t{1} << (3 * rank));
}

/// The mean of share_in_mean() over all ranks, or over those in `ranks` with all others contributing zeros.
[[nodiscard]] inline double mean_of_shares(std::span<const int> ranks) {
  double sum = 0;
  for (const int rank : ranks) sum += std::pow(8.0, rank);
  return sum;
}

/// 0, 1, ..., world_size - 1.
[[nodiscard]] inline std::vector<int> all_ranks(int world_size) {
  std::vector<int> ranks(static_cast<std::size_t>(world_size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// An explanation of a wrong mean of shares: the sum, divided twice, one rank's own, or with a rank missing; empty if
/// unknown.
[[nodiscard]] inline std::string explain_mean(double got, double expected, int world_size) {
  if (got == expected * world_size) return concat("that is the sum; the mean is the sum divided by ", world_size);
  if (got * world_size == expected) return "it has been divided by the number of ranks twice";
  for (int rank = 0; rank < world_size; ++rank) {
    const double share = share_in_mean(rank, world_size);
    if (got == share) return concat("that is rank ", rank, "'s own value");
    if (got * world_size == share)
      return concat("only rank ", rank, "'s value is in it: has it been waited for with synchronize()?");
  }
  return explain_sum(got, world_size);
}

/// "[3 1 2]".
[[nodiscard]] inline std::string list(std::span<const std::int64_t> numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += concat(text.empty() ? "" : " ", number);
  return concat("[", text, "]");
}

}  // namespace lockstep::exercise
