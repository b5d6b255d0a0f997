#pragma once
/// @file
/// The hosts that run a generation of a job. Internal to this module.
#include <optional>
#include <string>
#include <vector>

namespace lockstep::launch {

/// One generation: which ranks run on which host, and which have ended. Hosts are identified by the numbers of their
/// agents. Thread safety: one thread.
class Generation {
 public:
  /// A host's part.
  struct Member {
    int agent = -1;
    int first_rank = 0;
    int rank_count = 0;
    bool is_lost = false;
    std::optional<int> exit_code = {};  ///< Of its ranks; empty while they run.
  };

  /// @param number  Counts from 0; -1: no generation has begun yet.
  explicit Generation(int number) : number_(number) {}
  /// Adds a host with the next group rank; its ranks get the next numbers.
  void add(int agent, int rank_count) { members_.push_back({agent, world_size(), rank_count}); }

  /// Records that all ranks of a host have ended. @pre  The host has a part.
  void end(int agent, int exit_code);
  /// Records that a host is lost, and its ranks with it. Does nothing if the host has no part.
  void lose(int agent);

  [[nodiscard]] int number() const noexcept { return number_; }
  /// In the order of group ranks.
  [[nodiscard]] const std::vector<Member>& members() const noexcept { return members_; }
  [[nodiscard]] int host_count() const noexcept { return static_cast<int>(members_.size()); }
  [[nodiscard]] int world_size() const noexcept;
  /// A host's part; null if it has none.
  [[nodiscard]] const Member* find(int agent) const;
  /// Whether a host has ranks here that have not ended.
  [[nodiscard]] bool runs_on(int agent) const;
  /// The agent that started a rank, if it is still present.
  [[nodiscard]] std::optional<int> agent_of(int rank) const;

  /// Whether the ranks of at least one host have ended.
  [[nodiscard]] bool is_ending() const;
  /// Whether the ranks of all hosts have ended.
  [[nodiscard]] bool has_ended() const;
  /// Whether every host's ranks ended with kRequeueExitCode, as they do after saving a checkpoint to continue from.
  [[nodiscard]] bool has_saved() const;

 private:
  int number_;
  std::vector<Member> members_;
};

/// "rank 3", "ranks 2 to 5".
[[nodiscard]] std::string ranks_text(const Generation::Member& member);

}  // namespace lockstep::launch
