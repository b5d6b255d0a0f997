#include "10_tensor_parallel/4_predict_traffic/traffic.hpp"

namespace lockstep::tensor_parallel {

CollectiveCounts collectives(const TensorRun& run) {
  // SOLUTION(10.4) collectives: of a micro-batch, times their number, and what a step does once
  const std::int64_t halves = 2 * run.blocks, again = run.recomputes_blocks ? halves : 0;
  const std::int64_t each_way = halves + 1;  // the halves, and the embedding or the head
  CollectiveCounts micro_batch{.all_reduces = 2 * each_way + again, .all_gathers = 1};
  if (run.layout == Rows::kDivided)
    micro_batch = {
        .all_reduces = 0, .all_gathers = 2 * each_way + halves + again + 1, .reduce_scatters = 2 * each_way + again};
  return {.all_reduces = run.micro_batches * micro_batch.all_reduces + (run.layout == Rows::kDivided ? 1 : 0),
          .all_gathers = run.micro_batches * micro_batch.all_gathers,
          .reduce_scatters = run.micro_batches * micro_batch.reduce_scatters};
  // END SOLUTION
}

std::int64_t bytes_sent(const TensorRun& run) {
  // SOLUTION(10.4) bytes_sent: add up the elements of all collectives, an all-reduce counting twice
  const CollectiveCounts counts = collectives(run);
  const std::int64_t losses = run.micro_batches, norms = run.layout == Rows::kDivided ? 1 : 0;
  const std::int64_t of_rows = 2 * (counts.all_reduces - norms) + counts.all_gathers - losses + counts.reduce_scatters;
  const std::int64_t elements = of_rows * run.rows * run.channels + losses * 3 * run.rows * run.ranks +
                                2 * norms * (4 * run.blocks + 2) * run.channels;
  return 4 * elements / run.ranks * (run.ranks - 1);
  // END SOLUTION
}

}  // namespace lockstep::tensor_parallel
