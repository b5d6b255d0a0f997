#include <algorithm>
#include <array>
#include <utility>

#include "11_pipeline_parallel/5_backward_in_two/backward_in_two.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"weights_in_b", "B computes the weights' gradients, and W only adds them up",
     "Then B is as long as a whole backward pass. Keep operands, not products."},
    {"gradients_again", "W goes through the layers once more to get each layer's gradient",
     "B has had them all: let it keep them."},
    {"outputs_again", "W computes the inputs of all layers again", "F has left them in held.inputs."},
    {"keeps_input_gradients", "B keeps the gradient of each layer's input, and W takes it for the output's",
     "The weight's gradient is made of the input and of the gradient of the output."},
    {"last_gradient_for_all", "W takes the gradient of the stage's output for all layers",
     "Each layer has an output of its own."},
    {"order_reversed",
     "B keeps the gradients in the order in which they come, and W takes them for those of layer 0, 1, ...",
     "B begins with the last layer."},
    {"zeros_forgotten", "the gradient passes elements that F has set to 0",
     "Their input was negative: the gradient of the layer's input is 0 there."},
    {"zeros_of_the_output", "elements of a gradient are set to 0 by the input of the layer after",
     "Layer i sets elements of its own input to 0: held.inputs[i]."},
    {"layers_forward", "B goes from the first layer to the last", "The gradient arrives at the last layer's output."},
    {"replaces_sums", "W replaces the gradients of the weights", "Other micro-batches have been added up there."},
    {"kept_by_weight", "B keeps one gradient for each weight, and layers that share it overwrite it",
     "Keep one for each layer."},
    {"shared_counted_twice", "a shared weight gets the sum of its layers once for each of them",
     "Go through the layers, not through the weights."},
    {"shared_counted_once", "a shared weight gets the gradient of one of its layers only", "Add up those of all."},
    {"held_after_w", "W keeps what it has used", "Nobody needs it: held = {}."},
    {"inputs_twice", "B keeps the inputs once more beside the gradients", "They are in held.inputs."},
    {"inputs_freed_in_b", "B frees the inputs, as a whole backward pass does", "W reads them."},
    {"weights_at_once", "W comes right after B, so a rank waits for the last gradients with nothing left to do",
     "A rank may put off as many W as it has room for."},
    {"weights_at_the_end", "all W come after the last B", "Then each rank holds all micro-batches."},
    {"all_equally_late", "all ranks are as late with W as the last one may be",
     "Rank 0 holds p micro-batches between F and B already."},
    {"late_from_the_wrong_end", "the first rank is latest with W, and the last one does it at once",
     "How many micro-batches does a rank hold between F and B, and how many between B and W?"},
    {"one_too_late", "each rank is one micro-batch later with W than it has room for", "Rank 0 has no room at all."},
    {"one_too_early", "each rank is one micro-batch earlier with W than it could be", "How many may rank 1 hold?"},
    {"when_idle", "a rank does W whenever neither F nor B can begin",
     "Look at what comes a unit later: W is in the way of an F for which the next rank waits."},
    {"only_when_full", "a rank does W only if it has no room for the next F, and the rest at the end",
     "After the last F a rank waits for each B again, and could do a W in that time."},
    {"more_than_there_are", "a rank takes more micro-batches at the beginning than there are",
     "With 4 ranks and 2 micro-batches rank 0 would begin with 3 times F."},
    {"rest_forgotten", "what is late at the end is never done", "After the last B there are W left."},
    {"w_before_b", "W comes before B of the same micro-batch", "B makes the gradients that W reads."},
    {"newest_first", "the micro-batch that came back last is the first to do W", "The order is 0, 1, 2, ..."},
    {"all_forward_first", "all F come first, as in GPipe", "Then each rank holds all micro-batches."},
    {"one_at_a_time", "a rank does F, B and W of a micro-batch before it begins the next one",
     "Rank 0 waits for its gradient. What could it do in that time?"},
    {"lead_from_the_wrong_end", "rank r does r times F first, so rank 0 does it once",
     "Rank 0 waits longest for its first gradient, and the last rank does not wait."},
    {"twice_the_way", "a rank does F twice for each rank after it, there and back",
     "The step is as short as it can be, but the rank holds more than p."},
    {"same_lead_everywhere", "every rank does as many F first as rank 0",
     "The last rank can do B0 right after F0, and all others wait for that."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::pipeline {
namespace {

using exercise::is_mistake;
using Tasks = std::vector<Task>;

const Matrix& weight_of(const Stage& stage, std::size_t layer) { return stage.weights[stage.layers[layer]].value; }

// What is 0 in `input` gets no gradient.
void clear_zeros(Matrix& gradient, const Matrix& input) {
  for (std::size_t i = 0; i < gradient.elements.size(); ++i)
    if (input.elements[i] == 0) gradient.elements[i] = 0;
}

// The gradient of a layer's input.
Matrix input_gradient(const Stage& stage, const std::vector<Matrix>& inputs, std::size_t layer, const Matrix& gradient,
                      Products& products) {
  Matrix d_input = products.input_gradient(gradient, weight_of(stage, layer));
  const bool is_last = layer + 1 == inputs.size();
  const bool looks_ahead = is_mistake("zeros_of_the_output") && !is_last;
  if (!is_mistake("zeros_forgotten")) clear_zeros(d_input, inputs[looks_ahead ? layer + 1 : layer]);
  return d_input;
}

// By layer: the gradients that W needs. The last one is that of the stage's input.
std::vector<Matrix> all_gradients(const Stage& stage, const std::vector<Matrix>& inputs, const Matrix& output_gradient,
                                  Products& products) {
  std::vector<Matrix> gradients(stage.layers.size());
  Matrix gradient = output_gradient;
  for (std::size_t i = stage.layers.size(); i-- > 0;) {
    const std::size_t layer = is_mistake("layers_forward") ? stage.layers.size() - 1 - i : i;
    Matrix d_input = input_gradient(stage, inputs, layer, gradient, products);
    gradients[layer] = std::exchange(gradient, std::move(d_input));
  }
  gradients.push_back(std::move(gradient));
  return gradients;
}

// For each layer the one of the last layer with its weight that B has seen.
std::vector<Matrix> by_weight(const Stage& stage, const std::vector<Matrix>& gradients) {
  std::vector<Matrix> kept;
  for (const std::size_t weight : stage.layers) {
    const auto first = std::ranges::find(stage.layers, weight) - stage.layers.begin();
    kept.push_back(gradients[static_cast<std::size_t>(first)]);
  }
  return kept;
}

std::vector<Matrix> products_for_weights(const Stage& stage, const Held& held, const std::vector<Matrix>& gradients,
                                         Products& products) {
  std::vector<Matrix> result;
  for (std::size_t layer = 0; layer < stage.layers.size(); ++layer) {
    const Matrix& weight = weight_of(stage, layer);
    result.push_back(Matrix::zeros(weight.rows, weight.columns));
    products.add_weight_gradient(result.back(), held.inputs[layer], gradients[layer]);
  }
  return result;
}

int uses_of(const Stage& stage, std::size_t layer) {
  return static_cast<int>(std::ranges::count(stage.layers, stage.layers[layer]));
}

void add_layer(Stage& stage, const Held& held, std::size_t layer, Products& products) {
  Matrix& sum = stage.weights[stage.layers[layer]].gradient;
  if (is_mistake("weights_in_b")) {
    for (std::size_t i = 0; i < sum.elements.size(); ++i) sum.elements[i] += held.gradients[layer].elements[i];
    return;
  }
  if (is_mistake("replaces_sums")) sum = Matrix::zeros(sum.rows, sum.columns);
  const bool is_first_use =
      std::ranges::find(stage.layers, stage.layers[layer]) - stage.layers.begin() == static_cast<std::ptrdiff_t>(layer);
  if (is_mistake("shared_counted_once") && !is_first_use) return;
  const int times = is_mistake("shared_counted_twice") ? uses_of(stage, layer) : 1;
  const std::size_t place = is_mistake("order_reversed")          ? stage.layers.size() - 1 - layer
                            : is_mistake("last_gradient_for_all") ? stage.layers.size() - 1
                                                                  : layer;
  for (int i = 0; i < times; ++i) products.add_weight_gradient(sum, held.inputs[layer], held.gradients[place]);
}

// Rank r is r micro-batches late, without a mistake.
int late_of(int rank, int ranks, int micro_batches) {
  if (is_mistake("weights_at_once") || is_mistake("one_at_a_time")) return 0;
  if (is_mistake("weights_at_the_end")) return micro_batches;
  if (is_mistake("all_equally_late")) return ranks - 1;
  if (is_mistake("late_from_the_wrong_end")) return ranks - 1 - rank;
  if (is_mistake("one_too_late")) return rank + 1;
  if (is_mistake("one_too_early")) return std::max(0, rank - 1);
  return rank;
}

int lead_of(int rank, int ranks, int micro_batches) {
  int lead = ranks - 1 - rank;
  if (is_mistake("all_forward_first")) lead = micro_batches;
  if (is_mistake("one_at_a_time")) lead = 0;
  if (is_mistake("lead_from_the_wrong_end")) lead = rank;
  if (is_mistake("twice_the_way")) lead *= 2;
  if (is_mistake("same_lead_everywhere")) lead = ranks - 1;
  return is_mistake("more_than_there_are") ? lead : std::min(lead, micro_batches);
}

void exchange_weights(Tasks& tasks) {
  std::vector<int> waiting;
  for (auto& [part, micro_batch] : tasks) {
    if (part == Part::kInputGradient) waiting.push_back(micro_batch);
    if (part != Part::kWeightGradients) continue;
    micro_batch = waiting.back();
    waiting.pop_back();
  }
}

// W before an F for which there is no room, and all others at the end.
Tasks only_when_full(const Tasks& tasks, int ranks) {
  Tasks result;
  int forwards = 0, weights = 0;
  for (const Task& task : tasks) {
    if (task.part == Part::kWeightGradients) continue;
    if (task.part == Part::kForward && forwards++ - weights == ranks)
      result.push_back({Part::kWeightGradients, weights++});
    result.push_back(task);
  }
  while (weights < forwards) result.push_back({Part::kWeightGradients, weights++});
  return result;
}

Tasks tasks_of(int rank, int ranks, int micro_batches) {
  const int lead = lead_of(rank, ranks, micro_batches);
  int late = late_of(rank, ranks, micro_batches);
  if (is_mistake("w_before_b")) late = 0;
  Tasks tasks;
  for (int i = 0; i < lead; ++i) tasks.push_back({Part::kForward, i});
  for (int i = 0; i < micro_batches + (is_mistake("rest_forgotten") ? 0 : late); ++i) {
    if (lead + i < micro_batches) tasks.push_back({Part::kForward, lead + i});
    if (i < micro_batches) tasks.push_back({Part::kInputGradient, i});
    if (i >= late) tasks.push_back({Part::kWeightGradients, i - late});
    if (is_mistake("w_before_b") && i < micro_batches) std::swap(tasks.back(), tasks[tasks.size() - 2]);
  }
  if (is_mistake("newest_first")) exchange_weights(tasks);
  return is_mistake("only_when_full") ? only_when_full(tasks, ranks) : tasks;
}

// All ranks unit by unit: B if it can begin, else F, else W.
std::vector<Tasks> when_idle(int ranks, int micro_batches) {
  std::vector<Tasks> lists(static_cast<std::size_t>(ranks));
  std::vector<std::array<std::vector<int>, 3>> ends(lists.size());
  const auto is_done = [](const std::vector<int>& list, std::size_t at, int time) {
    return at < list.size() && list[at] <= time;
  };
  const auto count = static_cast<std::size_t>(micro_batches);
  const auto is_over = [&] {
    return std::ranges::all_of(ends, [&](const auto& own) { return own[2].size() == count; });
  };
  for (int time = 0; !is_over(); ++time) {
    for (std::size_t rank = 0; rank < lists.size(); ++rank) {
      auto& own = ends[rank];
      const std::size_t f = own[0].size(), b = own[1].size(), w = own[2].size();
      const bool is_last = rank + 1 == lists.size();
      const bool can_b = is_done(own[0], b, time) && (is_last || is_done(ends[rank + 1][1], b, time));
      const bool can_f = f < count && f - w < lists.size() && (rank == 0 || is_done(ends[rank - 1][0], f, time));
      if (!can_b && !can_f && !is_done(own[1], w, time)) continue;
      const std::size_t part = can_b ? 1 : can_f ? 0 : 2;
      lists[rank].push_back({static_cast<Part>(part), static_cast<int>(own[part].size())});
      own[part].push_back(time + 1);
    }
  }
  return lists;
}

}  // namespace

Matrix backward_input(const Stage& stage, Held& held, const Matrix& output_gradient, Products& products) {
  std::vector<Matrix> gradients = all_gradients(stage, held.inputs, output_gradient, products);
  Matrix result = gradients.back();
  // That of layer i's output is that of layer i + 1's input.
  if (is_mistake("keeps_input_gradients")) std::rotate(gradients.begin(), gradients.end() - 1, gradients.end());
  gradients.resize(stage.layers.size());
  if (is_mistake("weights_in_b")) gradients = products_for_weights(stage, held, gradients, products);
  if (is_mistake("kept_by_weight")) gradients = by_weight(stage, gradients);
  if (is_mistake("gradients_again")) gradients = {output_gradient};
  if (is_mistake("inputs_twice")) gradients.insert(gradients.end(), held.inputs.begin(), held.inputs.end());
  if (is_mistake("inputs_freed_in_b")) held.inputs.clear();
  held.gradients = std::move(gradients);
  return result;
}

void backward_weights(Stage& stage, Held& held, Products& products) {
  if (is_mistake("gradients_again"))
    held.gradients = all_gradients(stage, held.inputs, held.gradients.front(), products);
  if (is_mistake("outputs_again")) {
    Held again;
    (void)forward(stage, held.inputs.front(), again, products);
    held.inputs = std::move(again.inputs);
  }
  for (std::size_t layer = 0; layer < held.inputs.size(); ++layer) add_layer(stage, held, layer, products);
  if (!is_mistake("held_after_w")) held = {};
}

std::vector<std::vector<Task>> split_schedule(int ranks, int micro_batches) {
  if (is_mistake("when_idle")) return when_idle(ranks, micro_batches);
  std::vector<Tasks> lists;
  for (int rank = 0; rank < ranks; ++rank) lists.push_back(tasks_of(rank, ranks, micro_batches));
  return lists;
}

}  // namespace lockstep::pipeline
