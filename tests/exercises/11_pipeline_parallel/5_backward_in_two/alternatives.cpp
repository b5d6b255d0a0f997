#include "exercise/alternatives.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "11_pipeline_parallel/5_backward_in_two/backward_in_two.hpp"
#include "split_lists.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"late_as_room_allows",
     "gradients are kept in the order in which they come; W is put off as long as a rank has room"},
    {"one_tall_matrix", "one matrix has the gradients of all layers, and no given product is used; lists are searched"},
    {"inputs_scaled_away",
     "zeros are set by a factor, W goes through the layers backwards; W moves back in 1F1B lists"},
    {"plays_the_clock", "B is recursive; all ranks are played, and a rank does W when nothing else can be done"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::pipeline {

using exercise::is_alternative;
using exercise::SplitLists;

namespace {

using Tasks = std::vector<Task>;

void clear_zeros(Matrix& gradient, const Matrix& input) {
  for (std::size_t i = 0; i < gradient.elements.size(); ++i)
    gradient.elements[i] *= input.elements[i] > 0 ? 1.0F : 0.0F;
}

const Matrix& weight_of(const Stage& stage, std::size_t layer) { return stage.weights[stage.layers[layer]].value; }

// From layer `end` - 1 down to the first; keeps gradients by layer.
Matrix recursive(const Stage& stage, Held& held, Matrix gradient, std::size_t end, Products& products) {
  if (end == 0) return gradient;
  Matrix d_input = products.input_gradient(gradient, weight_of(stage, end - 1));
  clear_zeros(d_input, held.inputs[end - 1]);
  Matrix result = recursive(stage, held, std::move(d_input), end - 1, products);
  held.gradients.push_back(std::move(gradient));
  return result;
}

// All layers' gradients below one another, the last layer's first.
Matrix tall(const Stage& stage, Held& held, Matrix gradient) {
  Matrix all{0, gradient.columns, {}};
  for (std::size_t layer = stage.layers.size(); layer-- > 0;) {
    all.rows += gradient.rows;
    all.elements.insert(all.elements.end(), gradient.elements.begin(), gradient.elements.end());
    const Matrix &input = held.inputs[layer], &weight = weight_of(stage, layer);
    Matrix d_input = Matrix::zeros(input.rows, input.columns);
    for (std::int64_t j = 0; j < gradient.columns; ++j)
      for (std::int64_t i = 0; i < input.rows; ++i)
        for (std::int64_t k = 0; k < input.columns; ++k)
          if (input.at(i, k) > 0) d_input.at(i, k) += gradient.at(i, j) * weight.at(k, j);
    gradient = std::move(d_input);
  }
  held.gradients = {std::move(all)};
  return gradient;
}

void add_from_tall(Stage& stage, const Held& held) {
  std::int64_t row = 0;
  for (std::size_t layer = stage.layers.size(); layer-- > 0;) {
    Matrix& sum = stage.weights[stage.layers[layer]].gradient;
    const Matrix& input = held.inputs[layer];
    for (std::int64_t i = 0; i < input.rows; ++i, ++row)
      for (std::int64_t k = 0; k < input.columns; ++k)
        for (std::int64_t j = 0; j < sum.columns; ++j)
          sum.at(k, j) += input.at(i, k) * held.gradients.front().at(row, j);
  }
}

// F and B of 1F1B.
std::vector<Tasks> without_weights(int ranks, int micro_batches) {
  std::vector<Tasks> lists;
  for (const std::vector<Action>& actions : one_forward_one_backward(ranks, micro_batches)) {
    Tasks& tasks = lists.emplace_back();
    for (const Action& action : actions)
      tasks.push_back({action.pass == Pass::kForward ? Part::kForward : Part::kInputGradient, action.micro_batch});
  }
  return lists;
}

// W stands `late` times B after its own.
Tasks with_late_weights(const Tasks& tasks, int micro_batches, int late) {
  Tasks result;
  int next = 0;
  for (const Task& task : tasks) {
    result.push_back(task);
    if (task.part == Part::kInputGradient && task.micro_batch >= late)
      result.push_back({Part::kWeightGradients, next++});
  }
  while (next < micro_batches) result.push_back({Part::kWeightGradients, next++});
  return result;
}

// The next W comes when there is no room for the next F, and after each B if no F is left.
Tasks late_as_room_allows(const Tasks& tasks, int micro_batches, int ranks) {
  Tasks result;
  int forwards = 0, next = 0;
  for (const Task& task : tasks) {
    const bool is_forward = task.part == Part::kForward;
    if (is_forward && forwards++ - next == ranks) result.push_back({Part::kWeightGradients, next++});
    result.push_back(task);
    if (!is_forward && forwards == micro_batches) result.push_back({Part::kWeightGradients, next++});
  }
  while (next < micro_batches) result.push_back({Part::kWeightGradients, next++});
  return result;
}

// Every W as late as the room allows, and then earlier on any rank where that makes the step shorter.
SplitLists searched(int ranks, int micro_batches) {
  const SplitLists plan = without_weights(ranks, micro_batches);
  SplitLists best = plan;
  for (std::size_t rank = 0; rank < plan.size(); ++rank) {
    for (int late = 0; late < ranks; ++late) {
      Tasks tried = with_late_weights(plan[rank], micro_batches, late);
      if (exercise::most_held_by(tried) <= ranks) best[rank] = std::move(tried);
    }
  }
  for (std::size_t rank = 0; rank < plan.size(); ++rank) {
    for (int late = 0; late < ranks; ++late) {
      SplitLists tried = best;
      tried[rank] = with_late_weights(plan[rank], micro_batches, late);
      const bool fits = exercise::most_held_by(tried[rank]) <= ranks;
      if (fits && exercise::SplitTimes(tried).units() < exercise::SplitTimes(best).units()) best = std::move(tried);
    }
  }
  return best;
}

// Unit by unit: F and B of 1F1B as soon as they can be done, and W in between if the rank is idle or full.
std::vector<Tasks> played(int ranks, int micro_batches) {
  const std::vector<Tasks> plan = without_weights(ranks, micro_batches);
  std::vector<Tasks> lists(plan.size());
  std::array<std::vector<std::vector<int>>, 2> ends;  // of F and B, by rank and micro-batch
  for (auto& by_rank : ends) by_rank.resize(plan.size());
  std::vector<std::size_t> next(plan.size()), weights(plan.size());
  const auto has_ended = [](const std::vector<int>& list, int micro_batch, int time) {
    return micro_batch < std::ssize(list) && list[static_cast<std::size_t>(micro_batch)] <= time;
  };
  const auto is_over = [&] { return std::ranges::count(weights, static_cast<std::size_t>(micro_batches)) == ranks; };
  for (int time = 0; !is_over(); ++time) {
    for (std::size_t rank = 0; rank < plan.size(); ++rank) {
      const bool has_next = next[rank] < plan[rank].size();
      const Task task = has_next ? plan[rank][next[rank]] : Task{};
      const bool is_forward = task.part == Part::kForward;
      const bool is_full = ends[0][rank].size() == weights[rank] + static_cast<std::size_t>(ranks);
      bool can = has_next;
      if (can && is_forward) can = !is_full && (rank == 0 || has_ended(ends[0][rank - 1], task.micro_batch, time));
      if (can && !is_forward && rank + 1 < plan.size()) can = has_ended(ends[1][rank + 1], task.micro_batch, time);
      if (can) {
        ends[is_forward ? 0 : 1][rank].push_back(time + 1);
        lists[rank].push_back(task);
        ++next[rank];
      } else if (has_ended(ends[1][rank], static_cast<int>(weights[rank]), time)) {
        lists[rank].push_back({Part::kWeightGradients, static_cast<int>(weights[rank]++)});
      }
    }
  }
  return lists;
}

}  // namespace

Matrix backward_input(const Stage& stage, Held& held, const Matrix& output_gradient, Products& products) {
  if (is_alternative("one_tall_matrix")) return tall(stage, held, output_gradient);
  if (is_alternative("plays_the_clock")) return recursive(stage, held, output_gradient, stage.layers.size(), products);
  Matrix gradient = output_gradient;
  for (std::size_t layer = stage.layers.size(); layer-- > 0;) {
    held.gradients.push_back(gradient);
    gradient = products.input_gradient(gradient, weight_of(stage, layer));
    clear_zeros(gradient, held.inputs[layer]);
  }
  if (is_alternative("inputs_scaled_away")) std::ranges::reverse(held.gradients);
  return gradient;
}

void backward_weights(Stage& stage, Held& held, Products& products) {
  const bool is_reversed = is_alternative("late_as_room_allows");
  if (is_alternative("one_tall_matrix")) {
    add_from_tall(stage, held);
  } else {
    for (std::size_t layer = stage.layers.size(); layer-- > 0;) {
      const std::size_t at = is_reversed ? stage.layers.size() - 1 - layer : layer;
      products.add_weight_gradient(stage.weights[stage.layers[layer]].gradient, held.inputs[layer], held.gradients[at]);
    }
  }
  held.inputs.clear();
  held.gradients.clear();
}

std::vector<std::vector<Task>> split_schedule(int ranks, int micro_batches) {
  if (is_alternative("one_tall_matrix")) return searched(ranks, micro_batches);
  if (is_alternative("plays_the_clock")) return played(ranks, micro_batches);
  SplitLists lists = without_weights(ranks, micro_batches);
  for (int rank = 0; rank < ranks; ++rank) {
    Tasks& tasks = lists[static_cast<std::size_t>(rank)];
    tasks = is_alternative("inputs_scaled_away") ? with_late_weights(tasks, micro_batches, rank)
                                                 : late_as_room_allows(tasks, micro_batches, ranks);
  }
  return lists;
}

}  // namespace lockstep::pipeline
