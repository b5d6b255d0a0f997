#pragma once
// One rank's activity in each of its groups, for its reports to the hub. Internal to this module.
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

  // Returns this rank's status in the group and forgets it; empty if the rank never entered a call.
  RankStatus forget_group(int group);

  // As ControlPlane::note().
  void note(int group, const Fingerprint& call, CallStep step);

  // This rank posts a call of the group.
  void on_posted(int group) { groups_.try_emplace(group); }
  // All participants of `call` have posted the same. The answer may arrive after the group is forgotten.
  void on_agreed(int group, const Fingerprint& call);
  [[nodiscard]] bool is_agreed(int group, const Fingerprint& call) const;

  // Whether to report a running call now, before the next heartbeat: once after a tick, so that disagreement is noticed
  // early, and once when the call has taken too long. Returns true once for each.
  [[nodiscard]] bool take_due_report(const JobLimits& limits);

  [[nodiscard]] RankStatus status() const;
  [[nodiscard]] std::string to_text() const;

  // The call of rank `own_rank` of the job that rank 0, which left with status `left_behind`, never entered; empty if
  // none.
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
    std::array<Fingerprint, kKeptCollectives> ended;  // a ring buffer of the last ones
    std::size_t ended_count = 0;
    Clock::time_point running_since;
    int report_count = 0;
    std::vector<PairOperation> pairs;  // keeps its capacity, so that the next one allocates nothing
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
