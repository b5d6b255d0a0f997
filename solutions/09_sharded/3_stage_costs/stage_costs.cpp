#include "09_sharded/3_stage_costs/stage_costs.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

namespace lockstep::sharded {

std::int64_t bytes_sent(Stage stage, const ShardedRun& run) {
  // SOLUTION(09.3) bytes_sent: add up the elements of all collectives of a step
  const std::span<const std::int64_t> units = run.units;
  const auto sum = [](std::span<const std::int64_t> some) { return std::reduce(some.begin(), some.end()); };
  const std::int64_t all = sum(units), passes = run.micro_batches;
  std::int64_t elements = 2 * all;  // a reduce-scatter of gradients, and an all-gather of these or of values
  if (stage == Stage::kZero2) elements = (passes + 1) * all;
  if (stage == Stage::kZero3) {
    // Backward begins with the units that forward has used last, and the next forward with those of backward.
    const std::size_t kept = std::min(static_cast<std::size_t>(run.most_whole), units.size());
    const std::int64_t still_whole = passes * sum(units.last(kept)) + (passes - 1) * sum(units.first(kept));
    elements = 2 * passes * all - still_whole + passes * all;
  }
  return 4 * elements / run.ranks * (run.ranks - 1);
  // END SOLUTION
}

BytesHeld most_bytes_held(Stage stage, const ShardedRun& run) {
  // SOLUTION(09.3) most_bytes_held: parts of what is divided, and the largest run of units that are whole
  const std::span<const std::int64_t> units = run.units;
  const auto largest_run = [&](std::size_t length) {
    length = std::min(length, units.size());
    std::int64_t largest = 0;
    for (std::size_t first = 0; first + length <= units.size(); ++first) {
      const auto neighbours = units.subspan(first, length);
      largest = std::max(largest, std::reduce(neighbours.begin(), neighbours.end()));
    }
    return largest;
  };
  const std::int64_t all = std::reduce(units.begin(), units.end()), part = all / run.ranks;
  const std::int64_t whole = largest_run(static_cast<std::size_t>(run.most_whole));
  return {.values = 4 * (stage == Stage::kZero3 ? part + whole : all),
          .gradients = 4 * (stage >= Stage::kZero2 ? part + largest_run(2) : all),
          .moments = 8 * (stage >= Stage::kZero1 ? part : all)};
  // END SOLUTION
}

}  // namespace lockstep::sharded
