#include "11_pipeline_parallel/5_backward_in_two/backward_in_two.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::pipeline {

Matrix backward_input(const Stage& stage, Held& held, const Matrix& output_gradient, Products& products) {
  // SOLUTION(11.5) backward_input: from the last layer to the first; what will W need of each?
  held.gradients.resize(stage.layers.size());
  Matrix gradient = output_gradient;
  for (std::size_t layer = stage.layers.size(); layer-- > 0;) {
    Matrix d_input = products.input_gradient(gradient, stage.weights[stage.layers[layer]].value);
    for (std::size_t i = 0; i < d_input.elements.size(); ++i)
      if (held.inputs[layer].elements[i] == 0) d_input.elements[i] = 0;
    held.gradients[layer] = std::exchange(gradient, std::move(d_input));
  }
  return gradient;
  // END SOLUTION
}

void backward_weights(Stage& stage, Held& held, Products& products) {
  // SOLUTION(11.5) backward_weights: each layer by itself
  for (std::size_t layer = 0; layer < stage.layers.size(); ++layer) {
    Matrix& sum = stage.weights[stage.layers[layer]].gradient;
    products.add_weight_gradient(sum, held.inputs[layer], held.gradients[layer]);
  }
  held = {};
  // END SOLUTION
}

std::vector<std::vector<Task>> split_schedule(int ranks, int micro_batches) {
  std::vector<std::vector<Task>> schedule(static_cast<std::size_t>(ranks));
  // SOLUTION(11.5) split_schedule: the lists of 1F1B, and where does each W go?
  // F and B as in 1F1B. Rank r has at most p - r micro-batches between F and B, so it has room for r more between B
  // and W: it is r of them late with W. These W fill the end of the step, while 1F1B waits for the last B.
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Task>& tasks = schedule[static_cast<std::size_t>(rank)];
    const int lead = std::min(micro_batches, ranks - 1 - rank), late = rank;
    for (int i = 0; i < lead; ++i) tasks.push_back({Part::kForward, i});
    for (int i = 0; i < micro_batches + late; ++i) {
      if (lead + i < micro_batches) tasks.push_back({Part::kForward, lead + i});
      if (i < micro_batches) tasks.push_back({Part::kInputGradient, i});
      if (i >= late) tasks.push_back({Part::kWeightGradients, i - late});
    }
  }
  // END SOLUTION
  return schedule;
}

}  // namespace lockstep::pipeline
