#include "11_pipeline_parallel/2_predict_bubbles/predictions.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep::pipeline {

std::int64_t step_units(Order order, const PipelineRun& run) {
  // TODO(11.2): one micro-batch through all stages, and what each further one adds
  lockstep::todo("11.2 step_units");
}

double idle_per_busy(Order order, const PipelineRun& run) {
  // TODO(11.2): from the step's units, and what each rank computes
  lockstep::todo("11.2 idle_per_busy");
}

std::int64_t most_held(Order order, const PipelineRun& run, std::int64_t rank) {
  // TODO(11.2): a formula for each order
  lockstep::todo("11.2 most_held");
}

std::int64_t bytes_sent(const PipelineRun& run, std::int64_t rank) {
  // TODO(11.2): neighbours, and the table
  lockstep::todo("11.2 bytes_sent");
}

}  // namespace lockstep::pipeline
