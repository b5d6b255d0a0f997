#include "exercise/alternatives.hpp"

#include "10_tensor_parallel/4_predict_traffic/traffic.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"one_rank_s_part", "bytes are counted in parts of one rank, (ranks - 1) of which it sends"},
    {"formulas_by_block", "one formula for each block and one for the rest, no counts of places"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::tensor_parallel {

using exercise::is_alternative;

CollectiveCounts collectives(const TensorRun& run) {
  const std::int64_t blocks = run.blocks * run.micro_batches, again = run.recomputes_blocks ? 2 : 0;
  CollectiveCounts counts;
  switch (run.layout) {
    case Rows::kWhole:
      counts.all_reduces = blocks * (4 + again) + 2 * run.micro_batches;
      counts.all_gathers = run.micro_batches;
      break;
    case Rows::kDivided:
      counts.all_reduces = 1;
      counts.all_gathers = blocks * (6 + again) + 3 * run.micro_batches;
      counts.reduce_scatters = blocks * (4 + again) + 2 * run.micro_batches;
      break;
  }
  return counts;
}

std::int64_t bytes_sent(const TensorRun& run) {
  const bool is_divided = run.layout == Rows::kDivided;
  const std::int64_t others = run.ranks - 1;
  if (is_alternative("formulas_by_block")) {
    const std::int64_t again = run.recomputes_blocks ? 4 : 0;
    const std::int64_t of_block = (is_divided ? 10 : 8) + again;
    const std::int64_t times = run.micro_batches * (run.blocks * of_block + 4);
    std::int64_t bytes = 4 * others * (times * (run.rows * run.channels / run.ranks));
    bytes += 12 * others * run.micro_batches * run.rows;
    if (is_divided) bytes += 16 * others * (2 * run.blocks + 1) * (run.channels / run.ranks);
    return bytes;
  }
  // By collective: the part of one rank, in bytes, and how often it is sent to the next one.
  const CollectiveCounts counts = collectives(run);
  const std::int64_t rows = run.rows / run.ranks * run.channels * 4;
  std::int64_t bytes = 0;
  bytes += counts.reduce_scatters * others * rows;
  bytes += (counts.all_gathers - run.micro_batches) * others * rows;
  bytes += (counts.all_reduces - (is_divided ? 1 : 0)) * 2 * others * rows;
  bytes += run.micro_batches * others * 3 * run.rows * 4;
  bytes += (is_divided ? 1 : 0) * 2 * others * (4 * run.blocks + 2) * (run.channels / run.ranks) * 4;
  return bytes;
}

}  // namespace lockstep::tensor_parallel
