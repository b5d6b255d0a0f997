#include "11_pipeline_parallel/2_predict_bubbles/predictions.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep::pipeline {

std::int64_t step_units(Order order, const PipelineRun& run) {
  // SOLUTION(11.2) step_units: one micro-batch through all stages, and what each further one adds
  const std::int64_t way = 3 * std::accumulate(run.forward_units.begin(), run.forward_units.end(), std::int64_t{0});
  const std::int64_t slowest = 3 * *std::max_element(run.forward_units.begin(), run.forward_units.end());
  return order == Order::kNaive ? run.micro_batches * way : way + (run.micro_batches - 1) * slowest;
  // END SOLUTION
}

double idle_per_busy(Order order, const PipelineRun& run) {
  // SOLUTION(11.2) idle_per_busy: from the step's units, and what each rank computes
  const auto ranks = static_cast<std::int64_t>(run.forward_units.size());
  const std::int64_t way = 3 * std::accumulate(run.forward_units.begin(), run.forward_units.end(), std::int64_t{0});
  const std::int64_t busy = run.micro_batches * way, all = ranks * step_units(order, run);
  return static_cast<double>(all - busy) / static_cast<double>(busy);
  // END SOLUTION
}

std::int64_t most_held(Order order, const PipelineRun& run, std::int64_t rank) {
  // SOLUTION(11.2) most_held: a formula for each order
  if (order == Order::kNaive) return 1;
  if (order == Order::kGpipe) return run.micro_batches;
  return std::min(run.micro_batches, static_cast<std::int64_t>(run.forward_units.size()) - rank);
  // END SOLUTION
}

std::int64_t bytes_sent(const PipelineRun& run, std::int64_t rank) {
  // SOLUTION(11.2) bytes_sent: neighbours, and the table
  const auto last = static_cast<std::int64_t>(run.forward_units.size()) - 1;
  const std::int64_t neighbours = (rank < last ? 1 : 0) + (rank > 0 ? 1 : 0);
  const bool has_table = last > 0 && (rank == 0 || rank == last);
  return 4 * run.channels * (neighbours * run.micro_batches * run.rows + (has_table ? run.vocabulary : 0));
  // END SOLUTION
}

}  // namespace lockstep::pipeline
