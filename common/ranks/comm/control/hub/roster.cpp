#include "comm/control/hub/roster.hpp"

#include <utility>

namespace lockstep::comm {

Roster::Roster(int world_size, std::chrono::milliseconds liveness, Clock::time_point now)
    : ranks_(static_cast<std::size_t>(world_size)), liveness_(liveness), last_step_(now) {}

bool Roster::expects(int rank) const noexcept {
  return rank >= 0 && rank < static_cast<int>(ranks_.size()) && !entry(rank).has_joined;
}

void Roster::join(int rank, Clock::time_point now) {
  ranks_[static_cast<std::size_t>(rank)] = {.has_joined = true, .is_connected = true, .last_heard = now};
  ++joined_count_;
  ++connected_count_;
}

void Roster::hear(int rank, Clock::time_point now) { ranks_[static_cast<std::size_t>(rank)].last_heard = now; }

void Roster::disconnect(int rank) {
  if (std::exchange(ranks_[static_cast<std::size_t>(rank)].is_connected, false)) --connected_count_;
}

void Roster::note_step(Clock::time_point now) {
  if (now - std::exchange(last_step_, now) <= liveness_ / 2) return;
  for (Entry& rank : ranks_) rank.last_heard = now;
}

std::vector<int> Roster::missing() const {
  std::vector<int> missing;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (!entry(rank).has_joined) missing.push_back(rank);
  }
  return missing;
}

std::optional<Roster::SilentRank> Roster::first_silent(Clock::time_point now) const {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    const auto silence = now - entry(rank).last_heard;
    if (entry(rank).is_connected && silence > liveness_) return SilentRank{rank, silence};
  }
  return std::nullopt;
}

}  // namespace lockstep::comm
