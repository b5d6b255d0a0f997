#include "11_pipeline_parallel/schedules/timeline.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "11_pipeline_parallel/schedules/progress.hpp"
#include "base/error.hpp"

namespace lockstep::pipeline {
namespace {

// Times of actions, in an order in which each comes after those that it needs.
class Clock {
 public:
  Clock(const Schedule& schedule, const Costs& costs)
      : costs_(costs), stages_(stages_of(schedule)), free_from_(schedule.size()) {}

  TimedAction time(const Action& action) {
    double& free_from = free_from_[static_cast<std::size_t>(rank_of(action.stage))];
    double begin = free_from;
    for (const Action& need : needs_of(action, stages_)) begin = std::max(begin, arrival(need, action));
    free_from = ends_[action] = begin + costs_.of(action);
    return {action, begin, free_from};
  }

 private:
  [[nodiscard]] int rank_of(int stage) const { return pipeline::rank_of(stage, static_cast<int>(free_from_.size())); }

  [[nodiscard]] double arrival(const Action& need, const Action& action) const {
    const bool is_local = rank_of(need.stage) == rank_of(action.stage);
    return ends_.at(need) + (is_local ? 0 : costs_.message);
  }

  const Costs& costs_;
  int stages_;
  std::vector<double> free_from_;  // by rank
  std::map<Action, double> ends_;
};

}  // namespace

double Costs::of(const Action& action) const {
  const double factor = stage_factors.empty() ? 1 : stage_factors.at(static_cast<std::size_t>(action.stage));
  return factor * (action.pass == Pass::kForward ? forward : backward);
}

double Timeline::duration() const noexcept {
  double last = 0;
  for (const auto& actions : ranks) {
    if (!actions.empty()) last = std::max(last, actions.back().end);
  }
  return last;
}

double Timeline::busy(int rank) const noexcept {
  double sum = 0;
  for (const TimedAction& action : ranks[static_cast<std::size_t>(rank)]) sum += action.end - action.begin;
  return sum;
}

double Timeline::idle_per_busy(int rank) const noexcept { return duration() / busy(rank) - 1; }

double Timeline::idle_per_busy() const noexcept {
  double sum = 0;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) sum += busy(rank);
  return duration() * static_cast<double>(ranks.size()) / sum - 1;
}

int most_held_by(const std::vector<Action>& actions) {
  const std::set<Action> all(actions.begin(), actions.end());
  int held = 0, most = 0;
  for (const auto& [pass, stage, micro_batch] : actions) {
    if (pass == Pass::kBackward)
      --held;
    else if (all.contains({Pass::kBackward, stage, micro_batch}))
      most = std::max(most, ++held);
  }
  return most;
}

Timeline simulate(const Schedule& schedule, const Costs& costs) {
  require_executable(schedule);
  require(costs.stage_factors.empty() || costs.stage_factors.size() == static_cast<std::size_t>(stages_of(schedule)),
          costs.stage_factors.size(), " stage factors for ", stages_of(schedule), " stages");
  Timeline timeline{std::vector<std::vector<TimedAction>>(schedule.size()), {}};
  for (const auto& actions : schedule) timeline.most_held.push_back(most_held_by(actions));
  Progress progress(schedule);
  Clock clock(schedule, costs);
  while (const std::optional<int> rank = progress.ready_rank())
    timeline.ranks[static_cast<std::size_t>(*rank)].push_back(clock.time(progress.advance(*rank)));
  return timeline;
}

}  // namespace lockstep::pipeline
