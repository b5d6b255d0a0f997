#pragma once
/// @file
/// For judges whose learners return a schedule with one stage on each rank: how it travels, and what may be wrong.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "11_pipeline_parallel/schedules/timeline.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {

/// Reads what answer_with() in schedule_answer.hpp has written. Each check_... ends the check if it finds a fault.
class ExaminedSchedule {
 public:
  /// @param name  The beginning of each verdict: "3 ranks, 4 micro-batches".
  /// @param check  Must outlive this.
  ExaminedSchedule(Check& check, const Outcome& outcome, std::string name, int ranks, int micro_batches)
      : check_(check), name_(std::move(name)), ranks_(ranks), micro_batches_(micro_batches) {
    const auto lists = check.get<std::int64_t>(outcome, 0, "ranks");
    if (lists != ranks)
      fail(concat("the schedule has ", lists, lists == 1 ? " list" : " lists", "; each rank has one"));
    schedule_.resize(static_cast<std::size_t>(ranks));
    const auto rows = check.numbers<std::int32_t>(outcome, 0, "actions");
    for (std::size_t i = 0; i + 3 < rows.size(); i += 4)
      schedule_.at(static_cast<std::size_t>(rows[i]))
          .push_back({static_cast<pipeline::Pass>(rows[i + 1]), rows[i + 2], rows[i + 3]});
  }

  [[nodiscard]] const pipeline::Schedule& schedule() const noexcept { return schedule_; }

  /// All passes are there once, in ascending order, and no ranks wait for each other.
  void check_lists() const {
    for (int rank = 0; rank < ranks_; ++rank) check_list(rank, schedule_[static_cast<std::size_t>(rank)]);
    try {
      pipeline::require_executable(schedule_);
    } catch (const ContractError& error) {
      fail(error.what(), "look at the lists below: who waits for whom?");
    }
  }

  /// @param next  What to try if `rank` holds more than `enough`.
  void check_held(int rank, int enough, const std::string& next) const {
    const int held = pipeline::most_held_by(schedule_[static_cast<std::size_t>(rank)]);
    if (held > enough)
      fail(concat("rank ", rank, " holds ", held, " micro-batches at the same time; ", enough,
                  enough == 1 ? " is enough" : " are enough"),
           next);
  }

  /// @pre  check_lists() has passed. @param next  What to try if a step takes more units than `possible`.
  void check_duration(int possible, const std::string& next) const {
    const pipeline::Timeline timeline = pipeline::simulate(schedule_);
    const auto units = std::lround(timeline.duration());
    if (units > possible)
      fail(concat("the step takes ", units, " units; ", possible, " are possible"), next, picture_of(timeline));
  }

  [[noreturn]] void fail(const std::string& what, const std::string& next = "",
                         const std::vector<std::string>& evidence = {}) const {
    check_.wrong(concat(name_, ": ", what), next, evidence.empty() ? lists() : evidence);
  }

 private:
  // "F1"
  [[nodiscard]] static std::string name_of(const pipeline::Action& action) {
    return concat(action.pass == pipeline::Pass::kForward ? "F" : "B", action.micro_batch);
  }

  // The actions by themselves, so that what follows can rely on them.
  void check_list(int rank, const std::vector<pipeline::Action>& list) const {
    using pipeline::Pass;
    int next[2] = {0, 0};
    for (const pipeline::Action& action : list) {
      if (action.pass != Pass::kForward && action.pass != Pass::kBackward)
        fail(concat("rank ", rank, " has an action that is no pass"));
      if (action.stage != rank)
        fail(concat("rank ", rank, " has an action of stage ", action.stage, "; it has stage ", rank));
      if (action.micro_batch < 0 || action.micro_batch >= micro_batches_)
        fail(concat("rank ", rank, " has ", name_of(action), "; micro-batches are 0 to ", micro_batches_ - 1),
             "are there as many micro-batches as the beginning of a list takes?");
      int& expected = next[static_cast<int>(action.pass)];
      const pipeline::Action turn{action.pass, rank, expected++};
      if (action != turn) fail(concat("rank ", rank, " has ", name_of(action), " where ", name_of(turn), " is next"));
    }
    for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
      const pipeline::Action missing{pass, rank, next[static_cast<int>(pass)]};
      if (missing.micro_batch < micro_batches_) fail(concat("rank ", rank, " never does ", name_of(missing)));
    }
  }

  [[nodiscard]] std::vector<std::string> lists() const {
    std::vector<std::string> lines{"your lists:"};
    for (std::size_t rank = 0; rank < schedule_.size(); ++rank) {
      std::string line = concat("rank ", rank, " ");
      for (const pipeline::Action& action : schedule_[rank])
        if (line.size() < 100) line += " " + name_of(action);
      lines.push_back(line);
    }
    return lines;
  }

  // One line for each rank, at most 100 units wide.
  [[nodiscard]] static std::vector<std::string> picture_of(const pipeline::Timeline& timeline) {
    const auto width = std::min<std::size_t>(100, static_cast<std::size_t>(std::lround(timeline.duration())));
    std::vector<std::string> lines{"your timetable (capitals are backward passes):"};
    for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
      std::string units(width, '.');
      for (const auto& [action, begin, end] : timeline.ranks[rank])
        for (auto unit = static_cast<std::size_t>(begin); unit < std::min(width, static_cast<std::size_t>(end)); ++unit)
          units[unit] =
              static_cast<char>((action.pass == pipeline::Pass::kForward ? 'a' : 'A') + action.micro_batch % 26);
      lines.push_back(concat("rank ", rank, "  ", units));
    }
    return lines;
  }

  Check& check_;
  std::string name_;
  int ranks_, micro_batches_;
  pipeline::Schedule schedule_;
};

}  // namespace lockstep::exercise
