#include <algorithm>
#include <optional>
#include <set>

#include "11_pipeline_parallel/schedules/progress.hpp"
#include "11_pipeline_parallel/schedules/schedule.hpp"
#include "base/error.hpp"

namespace lockstep::pipeline {
namespace {

void require_own_actions(const Schedule& schedule) {
  const int ranks = static_cast<int>(schedule.size());
  for (int rank = 0; rank < ranks; ++rank) {
    std::set<Action> seen;
    for (const Action& action : schedule[static_cast<std::size_t>(rank)]) {
      require(action.stage >= 0 && action.micro_batch >= 0, "rank ", rank, " has ", text_of(action),
              "; stages and micro-batches count from 0");
      require(rank_of(action.stage, ranks) == rank, "rank ", rank, " has ", text_of(action), ", which belongs to rank ",
              rank_of(action.stage, ranks));
      require(seen.insert(action).second, "rank ", rank, " has ", text_of(action), " twice");
    }
  }
}

// The next stage must take everything that a stage sends.
void require_all_stages(const Schedule& schedule) {
  std::set<Action> all, passes;
  for (const auto& actions : schedule) all.insert(actions.begin(), actions.end());
  for (const Action& action : all) passes.insert({action.pass, 0, action.micro_batch});
  const int stages = stages_of(schedule);
  for (Action pass : passes) {
    for (pass.stage = 0; pass.stage < stages; ++pass.stage) {
      require(all.contains(pass), "no rank does ", text_of(pass), ", which other stages do");
      for (const Action& need : needs_of(pass, stages))
        require(all.contains(need), "no rank does ", text_of(need), ", which ", text_of(pass), " needs");
    }
  }
}

struct Wait {
  Action waiting, needed;
};

// A rank that has come to `waiting` and cannot do it.
Wait wait_of(const Progress& progress, int rank) {
  const Action waiting = *progress.next(rank);
  return {waiting, *progress.missing(waiting)};
}

// Follows ranks that wait, each for the rank of what it needs, until one comes up again.
std::vector<Wait> circle_from(const Progress& progress, int rank, int ranks) {
  std::vector<Wait> waits;
  std::vector<int> path;
  for (auto again = path.end(); again == path.end(); again = std::find(path.begin(), path.end(), rank)) {
    path.push_back(rank);
    waits.push_back(wait_of(progress, rank));
    rank = rank_of(waits.back().needed.stage, ranks);
  }
  waits.erase(waits.begin(), waits.begin() + (std::find(path.begin(), path.end(), rank) - path.begin()));
  return waits;
}

// The reason why the rank of `wait.needed` stops: `next` comes before it, or is the same action. Between two stages
// that is clear without naming `next`.
std::string link_text(const Wait& wait, const Action& next) {
  const bool names_next = wait.needed.stage != next.stage || wait.needed.stage == wait.waiting.stage;
  return concat(text_of(wait.needed), ", which ", names_next ? concat("comes after ", text_of(next), ", which ") : "",
                "waits for ");
}

std::string text_of(const std::vector<Wait>& circle) {
  std::string text = concat("stage ", circle.front().waiting.stage, " waits for ");
  for (std::size_t i = 0; i < circle.size(); ++i) text += link_text(circle[i], circle[(i + 1) % circle.size()].waiting);
  return text + text_of(circle.front().needed);
}

}  // namespace

void require_executable(const Schedule& schedule) {
  require_own_actions(schedule);
  require_all_stages(schedule);
  const int ranks = static_cast<int>(schedule.size());
  Progress progress(schedule);
  while (const std::optional<int> rank = progress.ready_rank()) progress.advance(*rank);
  for (int rank = 0; rank < ranks; ++rank) {
    if (progress.next(rank) == nullptr) continue;
    throw ContractError("the schedule stops: " + text_of(circle_from(progress, rank, ranks)));
  }
}

}  // namespace lockstep::pipeline
