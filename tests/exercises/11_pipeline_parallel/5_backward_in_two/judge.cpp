#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "11_pipeline_parallel/5_backward_in_two/backward_in_two.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"
#include "split_lists.hpp"
#include "stage_reference.hpp"

namespace lockstep::exercise {
namespace checks_11_5 {

using pipeline::Part;

// "F1"
std::string name_of(const Task& task) {
  constexpr std::array<const char*, 3> kNames = {"F", "B", "W"};
  return concat(kNames[static_cast<std::size_t>(task.part)], task.micro_batch);
}

std::string text_of(const std::vector<Task>& tasks) {
  std::string text;
  for (const Task& task : tasks) text += concat(text.empty() ? "" : " ", name_of(task));
  return text;
}

std::vector<Task> tasks_of(const std::string& names) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i + 1 < names.size(); i += 3)
    tasks.push_back({names[i] == 'F'   ? Part::kForward
                     : names[i] == 'B' ? Part::kInputGradient
                                       : Part::kWeightGradients,
                     names[i + 1] - '0'});
  return tasks;
}

std::string layers_of(const StageTrial& trial) {
  if (trial.layers.size() == 1) return "one layer";
  const std::size_t weights = std::ranges::max(trial.layers) + 1;
  return concat(trial.layers.size(), " layers",
                weights < trial.layers.size() ? concat(", ", weights, weights == 1 ? " weight" : " weights") : "");
}

void check_matrix(Check& check, const Outcome& outcome, const std::string& name, const std::string& what,
                  const std::vector<double>& expected, const StageTrial& trial, bool is_weight) {
  const Numbers shape = check.numbers<std::int64_t>(outcome, 0, name + "_shape");
  const std::int64_t rows = is_weight ? trial.channels : trial.rows;
  check.expect(shape == Numbers{rows, trial.channels}, concat(what, " should be [", rows, ", ", trial.channels,
                                                              "]; it is [", shape.at(0), ", ", shape.at(1), "]"));
  check.compare(what, check.numbers<float>(outcome, 0, name), expected);
}

std::string products_of(std::int64_t count) { return concat(count, count == 1 ? " product" : " products"); }

// The products of each task, and what it leaves.
void check_costs(Check& check, const Outcome& outcome, const StageTrial& trial, const std::vector<Task>& tasks,
                 const std::string& place) {
  const auto layers = static_cast<std::int64_t>(trial.layers.size());
  const Numbers counts = check.numbers<std::int64_t>(outcome, 0, "counts");
  std::array<std::int64_t, 3> before{};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    std::array<std::int64_t, 3> now{};
    for (std::size_t kind = 0; kind < 3; ++kind) now[kind] = counts.at(4 * i + kind) - before[kind];
    for (std::size_t kind = 0; kind < 3; ++kind) before[kind] = counts[4 * i + kind];
    const auto [part, micro_batch] = tasks[i];
    if (part == Part::kForward) continue;
    const bool is_b = part == Part::kInputGradient;
    if (now[0] > 0)
      check.wrong(concat(place, name_of(tasks[i]), " computes outputs again"), "F has left all inputs in `held`");
    if (is_b && now[2] > 0)
      check.wrong(concat(place, name_of(tasks[i]), " does ", products_of(now[2]),
                         " for weights: it is as long as a whole backward pass"),
                  "other ranks wait for B; leave these products to W");
    if (!is_b && now[1] > 0)
      check.wrong(concat(place, name_of(tasks[i]), " does ", products_of(now[1]), " for inputs once more"),
                  "B has had the gradient of each layer's output: let it keep them");
    if (const std::int64_t own = now[is_b ? 1 : 2]; own > layers)
      check.wrong(concat(place, name_of(tasks[i]), " does ", products_of(own), "; ", layers, " are enough"),
                  "one for each layer");
    const std::int64_t held = counts[4 * i + 3], enough = is_b ? 2 * layers * trial.rows * trial.channels : 0;
    if (held > enough)
      check.wrong(concat(place, "after ", name_of(tasks[i]), " ", held, " elements are held; ", enough, " are enough"),
                  is_b ? "W needs the input and the output's gradient of each layer" : "nobody needs them any more");
  }
}

void check_stage(Check& check, const StageTrial& trial) {
  const std::vector<Task> tasks = tasks_of(trial.order);
  const StageInputs inputs(trial, tasks, check.seed());
  const Outcome& outcome = check.run({.question = [&](int) { return inputs.question(tasks); }});
  const std::string place = concat(layers_of(trial), ", ", text_of(tasks), ": ");
  std::vector<std::vector<double>> sums = inputs.sums();
  for (int i = 0; i < inputs.micro_batches(); ++i)
    check_matrix(check, outcome, concat("d_input", i), concat(place, "the input's gradient from B", i),
                 inputs.backward(i, sums), trial, false);
  check_costs(check, outcome, trial, tasks, place);
  for (std::size_t i = 0; i < inputs.weights(); ++i)
    check_matrix(check, outcome, concat("sum", i), concat(place, "the gradient of weight ", i), sums[i], trial, true);
}

// The lists of a learner.
class ExaminedLists {
 public:
  ExaminedLists(Check& check, const Outcome& outcome, int ranks, int micro_batches)
      : check_(check), ranks_(ranks), micro_batches_(micro_batches) {
    const auto count = check.get<std::int64_t>(outcome, 0, "ranks");
    if (count != ranks) fail(concat("the schedule has ", count, count == 1 ? " list" : " lists"), "each rank has one");
    lists_.resize(static_cast<std::size_t>(ranks));
    const auto rows = check.numbers<std::int32_t>(outcome, 0, "tasks");
    for (std::size_t i = 0; i + 2 < rows.size(); i += 3)
      lists_.at(static_cast<std::size_t>(rows[i])).push_back({static_cast<Part>(rows[i + 1]), rows[i + 2]});
  }

  void check() const {
    for (int rank = 0; rank < ranks_; ++rank) check_list(rank, lists_[static_cast<std::size_t>(rank)]);
    check_circles();
    for (int rank = 0; rank < ranks_; ++rank) {
      const int held = most_held_by(lists_[static_cast<std::size_t>(rank)]);
      if (held > ranks_)
        fail(concat("rank ", rank, " holds ", held, " micro-batches at the same time; ", ranks_,
                    ranks_ == 1 ? " is allowed" : " are allowed"),
             "which W has to come earlier, or which F later?");
    }
    // No schedule is shorter. The last rank has nothing to do for p - 1 units, and then 3m tasks. Rank 0 gets its first
    // gradient after 2p - 1 units, and has m times B and m times W to do then.
    const SplitTimes times(lists_);
    const int possible = 2 * micro_batches_ + ranks_ - 1 + std::max(micro_batches_, ranks_);
    if (times.units() > possible) {
      std::vector<std::string> evidence{"your timetable (a: F0, A: B0, 0: W0):"};
      const std::vector<std::string> picture = times.picture(lists_, 100);
      for (std::size_t rank = 0; rank < picture.size(); ++rank)
        evidence.push_back(concat("rank ", rank, "  ", picture[rank]));
      fail(concat("the step takes ", times.units(), " units; ", possible, " are possible"),
           "find a B or an F that comes later than its input, and what its rank does instead", evidence);
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& next,
                         const std::vector<std::string>& evidence = {}) const {
    std::vector<std::string> lines = evidence;
    if (lines.empty()) {
      lines.emplace_back("your lists:");
      for (std::size_t rank = 0; rank < lists_.size(); ++rank)
        lines.push_back(concat("rank ", rank, "  ", text_of(lists_[rank]).substr(0, 100)));
    }
    check_.wrong(concat(ranks_, ranks_ == 1 ? " rank, " : " ranks, ", micro_batches_,
                        micro_batches_ == 1 ? " micro-batch: " : " micro-batches: ", what),
                 next, lines);
  }

  // All tasks are there once, in ascending order, and each W after its B.
  void check_list(int rank, const std::vector<Task>& list) const {
    std::array<int, 3> next{};
    for (const Task& task : list) {
      if (task.part != Part::kForward && task.part != Part::kInputGradient && task.part != Part::kWeightGradients)
        fail(concat("rank ", rank, " has a task that is neither F nor B nor W"), "");
      if (task.micro_batch < 0 || task.micro_batch >= micro_batches_)
        fail(concat("rank ", rank, " has ", name_of(task), "; micro-batches are 0 to ", micro_batches_ - 1),
             "are there as many micro-batches as the beginning of a list takes?");
      int& expected = next[static_cast<std::size_t>(task.part)];
      const Task turn{task.part, expected++};
      if (task != turn) fail(concat("rank ", rank, " has ", name_of(task), " where ", name_of(turn), " is next"), "");
      if (task.part == Part::kWeightGradients && next[1] <= task.micro_batch)
        fail(concat("rank ", rank, " has ", name_of(task), " before B", task.micro_batch),
             "W reads the gradients that B has kept");
    }
    for (const Part part : {Part::kForward, Part::kInputGradient, Part::kWeightGradients}) {
      const Task missing{part, next[static_cast<std::size_t>(part)]};
      if (missing.micro_batch < micro_batches_) fail(concat("rank ", rank, " never does ", name_of(missing)), "");
    }
  }

  // W waits for nobody else, so circles are those of F and B.
  void check_circles() const {
    pipeline::Schedule schedule;
    for (int rank = 0; rank < ranks_; ++rank) {
      std::vector<pipeline::Action>& actions = schedule.emplace_back();
      for (const auto& [part, micro_batch] : lists_[static_cast<std::size_t>(rank)])
        if (part != Part::kWeightGradients)
          actions.push_back(
              {part == Part::kForward ? pipeline::Pass::kForward : pipeline::Pass::kBackward, rank, micro_batch});
    }
    try {
      pipeline::require_executable(schedule);
    } catch (const ContractError& error) {
      fail(error.what(), "look at the lists below: who waits for whom?");
    }
  }

  Check& check_;
  int ranks_, micro_batches_;
  SplitLists lists_;
};

void check_lists(Check& check, int ranks, int micro_batches) {
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"what", "lists"}, {"ranks", ranks}, {"micro_batches", micro_batches}};
  }});
  ExaminedLists(check, outcome, ranks, micro_batches).check();
}

// F in order, and B and W of some of the micro-batches in any order.
StageTrial random_trial(PhiloxSequence& random) {
  StageTrial trial{.layers = {}, .order = ""};
  const auto below = [&](std::uint64_t bound) { return static_cast<std::size_t>(random.next_below(bound)); };
  trial.rows = static_cast<std::int64_t>(1 + below(4));
  trial.channels = static_cast<std::int64_t>(1 + below(6));
  for (std::size_t layer = 1 + below(4), used = 0; layer-- > 0;) {
    trial.layers.push_back(below(used + 1));
    used = std::max(used, trial.layers.back() + 1);
  }
  const int micro_batches = static_cast<int>(1 + below(5));
  std::vector<int> done(static_cast<std::size_t>(micro_batches));  // tasks of each
  for (int left = 3 * micro_batches; left > 0;) {
    const std::size_t i = below(done.size());
    if (done[i] == 3) continue;
    trial.order += concat(trial.order.empty() ? "" : " ", "FBW"[done[i]++], i);
    --left;
  }
  return trial;
}

}  // namespace checks_11_5

void judge_11_5(Examination& exam) {
  using namespace checks_11_5;
  exam.check("one layer, one micro-batch", [](Check& check) { check_stage(check, {}); });
  exam.check("three layers, W long after B", [](Check& check) {
    check_stage(check, {.layers = {0, 1, 2}, .order = "F0 F1 B0 F2 B1 W0 B2 W1 W2"});
    check_stage(check, {.layers = {0, 1}, .order = "F0 F1 B1 B0 W0 W1", .rows = 4, .channels = 3});
  });
  exam.check("layers that share a weight", [](Check& check) {
    check_stage(check, {.layers = {0, 0}, .order = "F0 B0 W0"});
    check_stage(check, {.layers = {0, 1, 0}, .order = "F0 F1 B0 B1 W0 W1"});
  });
  exam.check("4 ranks, 6 micro-batches", [](Check& check) { check_lists(check, 4, 6); });
  exam.check("3 ranks, 9 micro-batches", [](Check& check) { check_lists(check, 3, 9); });
  exam.check("1 rank, and 2 ranks", [](Check& check) {
    check_lists(check, 1, 3);
    check_lists(check, 2, 2);
    check_lists(check, 2, 5);
  });
  exam.check("fewer micro-batches than ranks", [](Check& check) {
    check_lists(check, 4, 2);
    check_lists(check, 5, 1);
    check_lists(check, 6, 4);
  });
  exam.check("8 ranks, 24 micro-batches", [](Check& check) { check_lists(check, 8, 24); });
  exam.full_check("random stages", [](Check& check) {
    PhiloxSequence random(check.seed(), 116);
    for (int round = 0; round < 10; ++round) check_stage(check, random_trial(random));
  });
  exam.full_check("every size up to 6 ranks and 8 micro-batches", [](Check& check) {
    for (int ranks = 1; ranks <= 6; ++ranks)
      for (int micro_batches = 1; micro_batches <= 8; ++micro_batches) check_lists(check, ranks, micro_batches);
  });
}

}  // namespace lockstep::exercise
