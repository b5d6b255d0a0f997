#pragma once
// Which ranks have joined the job, which are gone, and which are silent. Internal to the hub.
#include <chrono>
#include <optional>
#include <vector>

namespace lockstep::comm {

// Tracks the connection of each rank.
class Roster {
 public:
  using Clock = std::chrono::steady_clock;
  struct SilentRank {
    int rank;
    Clock::duration silence;
  };

  // liveness: how long a connected rank may be silent.
  Roster(int world_size, std::chrono::milliseconds liveness, Clock::time_point now);

  // Whether `rank` is a rank of the job that has not joined yet. A rank joins once.
  [[nodiscard]] bool expects(int rank) const noexcept;
  void join(int rank, Clock::time_point now);
  // A message has arrived from a rank.
  void hear(int rank, Clock::time_point now);
  // The rank's connection is closed, whether the rank has left or died.
  void disconnect(int rank);
  // Call at every step of the hub. After a long pause, the hub itself must have been stopped: all ranks then count as
  // just heard, so that they are not blamed for the silence.
  void note_step(Clock::time_point now);

  [[nodiscard]] bool is_complete() const noexcept { return joined_count_ == ranks_.size(); }  // all have joined
  // All have joined, and none is connected any more.
  [[nodiscard]] bool are_all_gone() const noexcept { return is_complete() && connected_count_ == 0; }
  [[nodiscard]] bool is_connected(int rank) const { return entry(rank).is_connected; }
  // Those that have not joined.
  [[nodiscard]] std::vector<int> missing() const;
  // The first connected rank that has been silent for too long.
  [[nodiscard]] std::optional<SilentRank> first_silent(Clock::time_point now) const;

 private:
  struct Entry {
    bool has_joined = false;
    bool is_connected = false;
    Clock::time_point last_heard;
  };
  [[nodiscard]] const Entry& entry(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  std::vector<Entry> ranks_;
  std::chrono::milliseconds liveness_;
  Clock::time_point last_step_;
  std::size_t joined_count_ = 0;
  std::size_t connected_count_ = 0;
};

}  // namespace lockstep::comm
