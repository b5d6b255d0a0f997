#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "11_pipeline_parallel/1_one_forward_one_backward/one_forward_one_backward.hpp"
#include "11_pipeline_parallel/schedules/timeline.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_11_1 {

using pipeline::Action;
using pipeline::Pass;
using pipeline::Schedule;
using pipeline::Timeline;
using Actions = std::vector<Action>;

// "F1"
std::string name_of(const Action& action) {
  return concat(action.pass == Pass::kForward ? "F" : "B", action.micro_batch);
}

// A schedule, with what a verdict about it shows.
class Examined {
 public:
  Examined(Check& check, int ranks, int micro_batches) : check_(check), ranks_(ranks), micro_batches_(micro_batches) {
    const Outcome& outcome = check.run({.question = [&](int) {
      return nlohmann::json{{"ranks", ranks}, {"micro_batches", micro_batches}};
    }});
    const auto lists = check.get<std::int64_t>(outcome, 0, "ranks");
    if (lists != ranks)
      fail(concat("the schedule has ", lists, lists == 1 ? " list" : " lists", "; each rank has one"));
    schedule_.resize(static_cast<std::size_t>(ranks));
    const auto rows = check.numbers<std::int32_t>(outcome, 0, "actions");
    for (std::size_t i = 0; i + 3 < rows.size(); i += 4)
      schedule_.at(static_cast<std::size_t>(rows[i]))
          .push_back({static_cast<Pass>(rows[i + 1]), rows[i + 2], rows[i + 3]});
  }

  void check_rules() const {
    for (int rank = 0; rank < ranks_; ++rank) check_list(rank, schedule_[static_cast<std::size_t>(rank)]);
    check_circles();
    for (int rank = 0; rank < ranks_; ++rank) check_held(rank);
    check_duration(pipeline::simulate(schedule_));
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& next = "",
                         const std::vector<std::string>& evidence = {}) const {
    check_.wrong(concat(ranks_, ranks_ == 1 ? " rank, " : " ranks, ", micro_batches_,
                        micro_batches_ == 1 ? " micro-batch: " : " micro-batches: ", what),
                 next, evidence.empty() ? lists() : evidence);
  }

  // The actions by themselves, so that what follows can rely on them.
  void check_list(int rank, const Actions& list) const {
    int next[2] = {0, 0};
    for (const Action& action : list) {
      if (action.pass != Pass::kForward && action.pass != Pass::kBackward)
        fail(concat("rank ", rank, " has an action that is no pass"));
      if (action.stage != rank)
        fail(concat("rank ", rank, " has an action of stage ", action.stage, "; it has stage ", rank));
      if (action.micro_batch < 0 || action.micro_batch >= micro_batches_)
        fail(concat("rank ", rank, " has ", name_of(action), "; micro-batches are 0 to ", micro_batches_ - 1),
             "are there as many micro-batches as the beginning of a list takes?");
      int& expected = next[static_cast<int>(action.pass)];
      const Action turn{action.pass, rank, expected++};
      if (action != turn) fail(concat("rank ", rank, " has ", name_of(action), " where ", name_of(turn), " is next"));
    }
    for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
      const Action missing{pass, rank, next[static_cast<int>(pass)]};
      if (missing.micro_batch < micro_batches_) fail(concat("rank ", rank, " never does ", name_of(missing)));
    }
  }

  void check_circles() const {
    try {
      pipeline::require_executable(schedule_);
    } catch (const ContractError& error) {
      fail(error.what(), "look at the lists below: who waits for whom?");
    }
  }

  void check_held(int rank) const {
    const int held = pipeline::most_held_by(schedule_[static_cast<std::size_t>(rank)]),
              enough = std::min(micro_batches_, ranks_ - rank);
    if (held > enough)
      fail(concat("rank ", rank, " holds ", held, " micro-batches at the same time; ", enough, " are enough"),
           "a rank needs one more than the rank after it");
  }

  void check_duration(const Timeline& timeline) const {
    const int possible = 3 * (micro_batches_ + ranks_ - 1);
    const auto units = std::lround(timeline.duration());
    if (units != possible)
      fail(concat("the step takes ", units, " units; ", possible, " are possible"),
           "where is a rank idle although it could hold one more micro-batch?", picture_of(timeline));
  }

  [[nodiscard]] std::vector<std::string> lists() const {
    std::vector<std::string> lines{"your lists:"};
    for (std::size_t rank = 0; rank < schedule_.size(); ++rank) {
      std::string line = concat("rank ", rank, " ");
      for (const Action& action : schedule_[rank])
        if (line.size() < 100) line += " " + name_of(action);
      lines.push_back(line);
    }
    return lines;
  }

  // One line for each rank, at most 100 units wide.
  [[nodiscard]] static std::vector<std::string> picture_of(const Timeline& timeline) {
    const auto width = std::min<std::size_t>(100, static_cast<std::size_t>(std::lround(timeline.duration())));
    std::vector<std::string> lines{"your timetable (capitals are backward passes):"};
    for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
      std::string units(width, '.');
      for (const auto& [action, begin, end] : timeline.ranks[rank])
        for (auto unit = static_cast<std::size_t>(begin); unit < std::min(width, static_cast<std::size_t>(end)); ++unit)
          units[unit] = static_cast<char>((action.pass == Pass::kForward ? 'a' : 'A') + action.micro_batch % 26);
      lines.push_back(concat("rank ", rank, "  ", units));
    }
    return lines;
  }

  Check& check_;
  int ranks_, micro_batches_;
  Schedule schedule_;
};

void check_schedule(Check& check, int ranks, int micro_batches) { Examined(check, ranks, micro_batches).check_rules(); }

}  // namespace checks_11_1

void judge_11_1(Examination& exam) {
  using namespace checks_11_1;
  exam.check("3 ranks, 4 micro-batches", [](Check& check) { check_schedule(check, 3, 4); });
  exam.check("2 ranks, 2 micro-batches", [](Check& check) { check_schedule(check, 2, 2); });
  exam.check("1 rank", [](Check& check) { check_schedule(check, 1, 5); });
  exam.check("4 ranks, 8 micro-batches", [](Check& check) { check_schedule(check, 4, 8); });
  exam.check("6 ranks, 6 micro-batches", [](Check& check) { check_schedule(check, 6, 6); });
  exam.check("4 ranks, 2 micro-batches", [](Check& check) { check_schedule(check, 4, 2); });
  exam.check("5 ranks, 1 micro-batch", [](Check& check) { check_schedule(check, 5, 1); });
  exam.full_check("every size up to 6 ranks and 7 micro-batches", [](Check& check) {
    for (int ranks = 1; ranks <= 6; ++ranks)
      for (int micro_batches = 1; micro_batches <= 7; ++micro_batches) check_schedule(check, ranks, micro_batches);
  });
}

}  // namespace lockstep::exercise
