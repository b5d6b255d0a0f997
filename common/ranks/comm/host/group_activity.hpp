#pragma once
// What one rank does in each of its groups, for its reports to the hub; not for others.
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/control/wire.hpp"
#include "comm/job_context.hpp"

namespace lockstep::comm {

// Not thread-safe: its owner guards it with the mutex that guards its outbox.
class GroupActivity {
 public:
  // A group of all ranks need not be registered. `members` are ranks of the job in the order of the group's ranks.
  void register_group(int group, std::vector<int> members) { members_[group] = std::move(members); }

  // Says where this rank was in the group, and forgets it; nothing where it has never entered anything.
  RankStatus forget_group(int group);

  // As ControlPlane::note().
  void note(int group, const Fingerprint& call, CallStep step);

  // All ranks that take part in `call` have posted it alike.
  void on_agreed(int group, const Fingerprint& call);
  [[nodiscard]] bool is_agreed(int group, const Fingerprint& call) const;

  // Whether something that runs is to be reported now, ahead of the next heartbeat: once after a tick, so that
  // disagreement is seen early, and once when it has taken too long. Answers yes once for each.
  [[nodiscard]] bool take_due_report(const JobLimits& limits);

  [[nodiscard]] RankStatus status() const;
  [[nodiscard]] std::string to_text() const;

  // What rank `own_rank` of the job is in that rank 0, having left with `left_behind`, has never entered; empty:
  // nothing.
  [[nodiscard]] std::string missing_from_rank_0(const RankStatus& left_behind, int own_rank) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct PairOperation {
    Fingerprint operation;
    Clock::time_point running_since;
    int report_count = 0;
  };
  struct Group {
    std::optional<Fingerprint> issued;
    std::optional<Fingerprint> running;
    std::array<Fingerprint, kKeptCollectives> ended;  // in turn: the last ones
    std::size_t ended_count = 0;
    Clock::time_point running_since;
    int report_count = 0;
    std::vector<PairOperation> pairs;  // keeps its room, so that the next one allocates nothing
    std::map<PairEnd, std::uint64_t> begun;
    std::map<PairEnd, std::uint64_t> agreed;  // calls on which all ranks agree; collectives under one key
  };

  static void note_pair(Group& group, const Fingerprint& operation, CallStep step);
  [[nodiscard]] static GroupStatus status_of(const Group& group);
  [[nodiscard]] int rank_in(int group, int rank) const;
  [[nodiscard]] int rank_of_job(int group, int peer) const;

  std::map<int, Group> groups_;
  std::map<int, std::vector<int>> members_;  // of registered groups
};

}  // namespace lockstep::comm
