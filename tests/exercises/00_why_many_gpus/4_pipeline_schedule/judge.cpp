#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "00_why_many_gpus/4_pipeline_schedule/pipeline_schedule.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_00_4 {

using plan::Pass;
using plan::Task;

// A timetable that has been found wrong is drawn: who reads it sees more than any sentence says.
class Timetable {
 public:
  Timetable(const std::vector<std::int32_t>& rows, int ranks, int micro_batches)
      : ranks_(ranks), micro_batches_(micro_batches) {
    for (std::size_t i = 0; i + 4 < rows.size(); i += 5)
      tasks_.push_back({rows[i], rows[i + 1], static_cast<Pass>(rows[i + 2]), rows[i + 3], rows[i + 4]});
  }

  void check_rules() {
    check_each_task();
    check_completeness();
    check_overlaps();
    for (const Task& task : tasks_) check_order(task);
    const int expected = 3 * (micro_batches_ + ranks_ - 1);
    if (duration() != expected)
      fail(concat("the step takes ", duration(), " units; ", expected, " are possible"),
           "find the first task that could begin earlier without breaking a rule");
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& next = "") const {
    Failure failure{.summary = concat(ranks_, ranks_ == 1 ? " rank, " : " ranks, ", micro_batches_,
                                      micro_batches_ == 1 ? " micro-batch: " : " micro-batches: ", what),
                    .next = next};
    failure.evidence = picture();
    throw CheckFailed{failure};
  }

  // "the forward pass of micro-batch b on rank 1 (units 2 to 3)"
  static std::string name_of(int rank, int micro_batch, Pass pass) {
    return concat("the ", pass == Pass::kForward ? "forward" : "backward", " pass of micro-batch ", micro_batch, " (",
                  letter_of(micro_batch, pass), ") on rank ", rank);
  }
  static std::string name_of(const Task& task) { return name_of(task.rank, task.micro_batch, task.pass); }

  static char letter_of(int micro_batch, Pass pass) {
    return static_cast<char>((pass == Pass::kForward ? 'a' : 'A') + micro_batch % 26);
  }

  // Each task by itself, so that what follows can rely on its numbers.
  void check_each_task() {
    for (const Task& task : tasks_) {
      const bool is_pass = task.pass == Pass::kForward || task.pass == Pass::kBackward;
      if (task.rank < 0 || task.rank >= ranks_ || task.micro_batch < 0 || task.micro_batch >= micro_batches_ ||
          !is_pass)
        fail(concat("there is a task of rank ", task.rank, " and micro-batch ", task.micro_batch,
                    "; both are counted from 0"));
      if (task.begin < 0) fail(concat(name_of(task), " begins before unit 0"));
      const int units = task.pass == Pass::kForward ? plan::kForwardUnits : plan::kBackwardUnits;
      if (task.end - task.begin != units)
        fail(concat(name_of(task), " takes ", task.end - task.begin, " units, from ", task.begin, " to ", task.end,
                    "; it should take ", units));
      if (!by_name_.emplace(std::tuple(task.rank, task.micro_batch, task.pass), task).second)
        fail(concat(name_of(task), " occurs twice"));
    }
  }

  void check_completeness() const {
    for (int rank = 0; rank < ranks_; ++rank)
      for (int i = 0; i < micro_batches_; ++i)
        for (const Pass pass : {Pass::kForward, Pass::kBackward})
          if (!by_name_.contains({rank, i, pass})) fail(concat(name_of(rank, i, pass), " is missing"));
  }

  void check_overlaps() {
    std::vector<Task> sorted = tasks_;
    std::ranges::sort(sorted, {}, [](const Task& task) { return std::pair(task.rank, task.begin); });
    for (std::size_t i = 1; i < sorted.size(); ++i)
      if (sorted[i].rank == sorted[i - 1].rank && sorted[i].begin < sorted[i - 1].end)
        fail(concat(name_of(sorted[i]), " begins in unit ", sorted[i].begin, ", but ", name_of(sorted[i - 1]),
                    " ends in ", sorted[i - 1].end));
  }

  void check_after(const Task& task, int rank, int micro_batch, Pass pass) const {
    const Task& before = by_name_.at({rank, micro_batch, pass});
    if (task.begin < before.end)
      fail(concat(name_of(task), " begins in unit ", task.begin, "; it must wait for ", name_of(before),
                  ", which ends in unit ", before.end));
  }

  void check_order(const Task& task) const {
    if (task.pass == Pass::kForward) {
      if (task.rank > 0) check_after(task, task.rank - 1, task.micro_batch, Pass::kForward);
      return;
    }
    if (task.rank + 1 < ranks_) check_after(task, task.rank + 1, task.micro_batch, Pass::kBackward);
    for (int i = 0; i < micro_batches_; ++i) check_after(task, task.rank, i, Pass::kForward);
  }

  [[nodiscard]] int duration() const { return tasks_.empty() ? 0 : std::ranges::max(tasks_, {}, &Task::end).end; }

  // One line per rank, at most 100 units wide.
  [[nodiscard]] std::vector<std::string> picture() const {
    const int width = std::clamp(duration(), 0, 100);
    std::vector<std::string> lines(static_cast<std::size_t>(ranks_), std::string(static_cast<std::size_t>(width), '.'));
    for (const Task& task : tasks_) {
      if (task.rank < 0 || task.rank >= ranks_ || task.micro_batch < 0) continue;
      for (int unit = std::max(task.begin, 0); unit < std::min(task.end, width); ++unit) {
        char& cell = lines[static_cast<std::size_t>(task.rank)][static_cast<std::size_t>(unit)];
        cell = cell == '.' ? letter_of(task.micro_batch, task.pass) : '!';
      }
    }
    for (int rank = 0; rank < ranks_; ++rank) {
      std::string& line = lines[static_cast<std::size_t>(rank)];
      line = concat("rank ", rank, rank < 10 ? "  " : " ", line);
    }
    lines.insert(lines.begin(), "your timetable (capitals are backward passes, ! marks two tasks at once):");
    return lines;
  }

  int ranks_, micro_batches_;
  std::vector<Task> tasks_;
  std::map<std::tuple<int, int, Pass>, Task> by_name_;
};

nlohmann::json question_of(const char* what, int ranks, int micro_batches) {
  return {{"what", what}, {"ranks", ranks}, {"micro_batches", micro_batches}};
}

void check_timetable(Check& check, int ranks, int micro_batches) {
  const Outcome& outcome = check.run({.question = [&](int) { return question_of("schedule", ranks, micro_batches); }});
  Timetable(check.numbers<std::int32_t>(outcome, 0, "tasks"), ranks, micro_batches).check_rules();
}

void check_bubble(Check& check, int ranks, int micro_batches) {
  const Outcome& outcome = check.run({.question = [&](int) { return question_of("bubble", ranks, micro_batches); }});
  const auto got = check.get<double>(outcome, 0, "bubble");
  // All units of all ranks, less those that the 2 P M passes take.
  const double all = 3.0 * (micro_batches + ranks - 1) * ranks, busy = 3.0 * micro_batches * ranks;
  const double expected = (all - busy) / all;
  if (!(std::abs(got - expected) <= 1e-9))
    check.wrong(concat(ranks, ranks == 1 ? " rank, " : " ranks, ", micro_batches,
                       micro_batches == 1 ? " micro-batch" : " micro-batches", ": the ranks are idle for ", all - busy,
                       " of ", all, " units together, so the bubble is ", shown(expected), "; got ", shown(got)));
}

}  // namespace checks_00_4

void judge_00_4(Examination& exam) {
  using namespace checks_00_4;
  exam.check("1 rank, 3 micro-batches", [](Check& check) { check_timetable(check, 1, 3); });
  exam.check("3 ranks, 1 micro-batch", [](Check& check) { check_timetable(check, 3, 1); });
  exam.check("3 ranks, 2 micro-batches", [](Check& check) { check_timetable(check, 3, 2); });
  exam.check("4 ranks, 4 micro-batches", [](Check& check) { check_timetable(check, 4, 4); });
  exam.check("2 ranks, 20 micro-batches", [](Check& check) { check_timetable(check, 2, 20); });
  exam.check("16 ranks, 5 micro-batches", [](Check& check) { check_timetable(check, 16, 5); });
  exam.check("the bubble of 4 ranks", [](Check& check) {
    for (const int micro_batches : {1, 4, 16}) check_bubble(check, 4, micro_batches);
  });
  exam.check("the bubble of 1 rank", [](Check& check) { check_bubble(check, 1, 7); });
  exam.full_check("every size up to 6 ranks and 9 micro-batches", [](Check& check) {
    for (int ranks = 1; ranks <= 6; ++ranks)
      for (const int micro_batches : {1, 2, 3, 6, 9}) {
        check_timetable(check, ranks, micro_batches);
        check_bubble(check, ranks, micro_batches);
      }
  });
}

}  // namespace lockstep::exercise
