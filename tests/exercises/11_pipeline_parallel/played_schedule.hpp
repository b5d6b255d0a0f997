#pragma once
/// @file
/// A schedule that is played unit by unit, for judges and unusual right answers.
#include <algorithm>
#include <span>
#include <vector>

#include "11_pipeline_parallel/schedules/schedule.hpp"

namespace lockstep::exercise {

/// The choice of a rank that could do either pass.
enum class Prefer { kBackward, kForward };

/// Plays all ranks, unit by unit: a rank that is free does a pass whose input is there, if it has room for it.
class PlayedSchedule {
 public:
  /// @param most_held  By rank, at least 1. @param backward_units  Of a backward pass; a forward pass takes 1.
  PlayedSchedule(int micro_batches, std::span<const int> most_held, Prefer prefer, int backward_units)
      : micro_batches_(static_cast<std::size_t>(micro_batches)), prefer_(prefer), backward_units_(backward_units) {
    for (const int most : most_held) players_.push_back({.most_held = static_cast<std::size_t>(most)});
    for (int time = 0; players_.front().backward_ends.size() < micro_batches_; ++time)
      for (std::size_t rank = 0; rank < players_.size(); ++rank) play(rank, time);
  }

  [[nodiscard]] pipeline::Schedule schedule() const {
    pipeline::Schedule schedule;
    for (const Player& player : players_) schedule.push_back(player.actions);
    return schedule;
  }

  /// The end of the last backward pass.
  [[nodiscard]] int units() const { return players_.front().backward_ends.back(); }

 private:
  struct Player {
    std::size_t most_held = 1;
    std::vector<pipeline::Action> actions = {};
    std::vector<int> forward_ends = {}, backward_ends = {};
    int free_from = 0;
  };

  static bool ends_by(const std::vector<int>& ends, std::size_t micro_batch, int time) {
    return micro_batch < ends.size() && ends[micro_batch] <= time;
  }

  void play(std::size_t rank, int time) {
    Player& player = players_[rank];
    if (player.free_from > time) return;
    const std::size_t forward = player.forward_ends.size(), backward = player.backward_ends.size();
    const bool is_last = rank + 1 == players_.size();
    const bool can_backward =
        forward > backward && ends_by(is_last ? player.forward_ends : players_[rank + 1].backward_ends, backward, time);
    const bool can_forward = forward < micro_batches_ && forward - backward < player.most_held &&
                             (rank == 0 || ends_by(players_[rank - 1].forward_ends, forward, time));
    if (can_backward && !(can_forward && prefer_ == Prefer::kForward))
      take(player, rank, pipeline::Pass::kBackward, time + backward_units_);
    else if (can_forward)
      take(player, rank, pipeline::Pass::kForward, time + 1);
  }

  static void take(Player& player, std::size_t rank, pipeline::Pass pass, int end) {
    std::vector<int>& ends = pass == pipeline::Pass::kForward ? player.forward_ends : player.backward_ends;
    player.actions.push_back({pass, static_cast<int>(rank), static_cast<int>(ends.size())});
    ends.push_back(player.free_from = end);
  }

  std::size_t micro_batches_;
  Prefer prefer_;
  int backward_units_;
  std::vector<Player> players_;
};

/// `most_held`, and of p ranks at most p - r on rank r.
[[nodiscard]] inline std::vector<int> limits_of(std::span<const int> most_held) {
  std::vector<int> limits(most_held.begin(), most_held.end());
  for (std::size_t rank = 0; rank < limits.size(); ++rank)
    limits[rank] = std::min(limits[rank], static_cast<int>(limits.size() - rank));
  return limits;
}

}  // namespace lockstep::exercise
