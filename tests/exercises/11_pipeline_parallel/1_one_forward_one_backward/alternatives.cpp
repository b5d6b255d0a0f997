#include "exercise/alternatives.hpp"

#include <algorithm>

#include "11_pipeline_parallel/1_one_forward_one_backward/one_forward_one_backward.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"backward_when_full",
     "a rank that holds as many micro-batches as it may does a backward pass next, else a forward"},
    {"plays_the_clock", "all ranks are played unit by unit; each prefers a backward pass whose gradient is there"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::pipeline {

using exercise::is_alternative;

namespace {

// A rank that is played unit by unit.
struct Player {
  std::vector<Action> actions = {};
  std::vector<int> forward_ends = {}, backward_ends = {};
  int free_from = 0;
};

bool ends_by(const std::vector<int>& ends, std::size_t micro_batch, int time) {
  return micro_batch < ends.size() && ends[micro_batch] <= time;
}

void play(std::vector<Player>& players, std::size_t rank, int micro_batches, int time) {
  Player& player = players[rank];
  if (player.free_from > time) return;
  const bool is_last = rank + 1 == players.size();
  const std::size_t forward = player.forward_ends.size(), backward = player.backward_ends.size();
  const auto stage = static_cast<int>(rank);
  if (ends_by(is_last ? player.forward_ends : players[rank + 1].backward_ends, backward, time)) {
    player.actions.push_back({Pass::kBackward, stage, static_cast<int>(backward)});
    player.backward_ends.push_back(player.free_from = time + 2);
    return;
  }
  const bool has_room = forward - backward < players.size() - rank && forward < static_cast<std::size_t>(micro_batches);
  if (!has_room || (rank > 0 && !ends_by(players[rank - 1].forward_ends, forward, time))) return;
  player.actions.push_back({Pass::kForward, stage, static_cast<int>(forward)});
  player.forward_ends.push_back(player.free_from = time + 1);
}

Schedule played(int ranks, int micro_batches) {
  std::vector<Player> players(static_cast<std::size_t>(ranks));
  for (int time = 0; time < 3 * (micro_batches + ranks); ++time)
    for (std::size_t rank = 0; rank < players.size(); ++rank) play(players, rank, micro_batches, time);
  Schedule schedule;
  for (const Player& player : players) schedule.push_back(player.actions);
  return schedule;
}

}  // namespace

Schedule one_forward_one_backward(int ranks, int micro_batches) {
  if (is_alternative("plays_the_clock")) return played(ranks, micro_batches);
  Schedule schedule(static_cast<std::size_t>(ranks));
  for (int rank = ranks - 1; rank >= 0; --rank) {
    std::vector<Action>& actions = schedule[static_cast<std::size_t>(rank)];
    for (int forwards = 0, backwards = 0; backwards < micro_batches;) {
      const bool is_full = forwards - backwards == ranks - rank || forwards == micro_batches;
      actions.push_back({is_full ? Pass::kBackward : Pass::kForward, rank, is_full ? backwards++ : forwards++});
    }
  }
  return schedule;
}

}  // namespace lockstep::pipeline
