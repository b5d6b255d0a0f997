#include "11_pipeline_parallel/5_backward_in_two/backward_in_two.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::pipeline {

Matrix backward_input(const Stage& stage, Held& held, const Matrix& output_gradient, Products& products) {
  // TODO(11.5): from the last layer to the first; what will W need of each?
  lockstep::todo("11.5 backward_input");
}

void backward_weights(Stage& stage, Held& held, Products& products) {
  // TODO(11.5): each layer by itself
  lockstep::todo("11.5 backward_weights");
}

std::vector<std::vector<Task>> split_schedule(int ranks, int micro_batches) {
  std::vector<std::vector<Task>> schedule(static_cast<std::size_t>(ranks));
  // TODO(11.5): the lists of 1F1B, and where does each W go?
  lockstep::todo("11.5 split_schedule");
  return schedule;
}

}  // namespace lockstep::pipeline
