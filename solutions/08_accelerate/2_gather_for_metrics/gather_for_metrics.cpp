#include "08_accelerate/2_gather_for_metrics/gather_for_metrics.hpp"

#include <algorithm>

namespace lockstep::accelerate {

std::vector<std::int64_t> gather_for_metrics(std::span<const std::int64_t> own, const EvaluationBatch& batch,
                                             Collectives& group) {
  // SOLUTION(08.2) gather_for_metrics: gather equally long rows, and pick the real positions in their order
  const std::int64_t ranks = group.world_size(), most = ranks * batch.batch_size;
  const std::int64_t count = std::min(most, batch.sample_count - batch.index * most);  // real positions of this batch
  const std::int64_t rows = (count + ranks - 1) / ranks;  // rounded up: of the rank that has most

  std::vector<std::int64_t> padded(own.begin(), own.end());
  padded.resize(static_cast<std::size_t>(rows));
  const std::vector<std::int64_t> all = group.gather_rows(padded);

  std::vector<std::int64_t> result;
  for (std::int64_t position = 0; position < count; ++position) {
    const std::int64_t rank = position % ranks, row = position / ranks;
    result.push_back(all[static_cast<std::size_t>(rank * rows + row)]);
  }
  return result;
  // END SOLUTION
}

}  // namespace lockstep::accelerate
