#pragma once
// Each rank's position in each of its groups, as last reported. Internal to the hub.
#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/control/hub/call_ledger.hpp"
#include "comm/control/wire.hpp"

namespace lockstep::comm {

// A group of ranks. Groups with the same number but different members are different groups.
struct GroupKey {
  int number;
  Members members;
  auto operator<=>(const GroupKey&) const = default;
};

// A collective that ranks of a group are running.
struct RunningCollective {
  Fingerprint call;
  int rank;                           // the first one running it
  std::chrono::milliseconds longest;  // longest time that any rank has been in it
};
using RunningBySequence = std::map<std::uint64_t, RunningCollective>;

// Keeps and compares the reports of all ranks: which ranks have entered a collective and which have not, and which rank
// waits for which. All ranks passed to it are ranks of the job.
class GroupLedger {
 public:
  explicit GroupLedger(int world_size);

  // The status of `rank` in its groups; replaces the previous one.
  void report(int rank, const RankStatus& status);
  // Its last report: the rank has left the job.
  void leave(int rank, const RankStatus& status);
  // The members that `rank` associates with the number `group`; all ranks if it never registers it.
  void register_group(int rank, int group, const std::vector<int>& members);
  // `rank` has destroyed the group; `last` is its last status in it. This is kept until all members have destroyed the
  // group, because others may still wait for it there. Returns the members if this was the last of them, else null.
  [[nodiscard]] Members forget_group(int rank, int group, const RankStatus& last);

  [[nodiscard]] const Members& everybody() const noexcept { return everybody_; }  // all ranks of the job
  [[nodiscard]] GroupKey group_of(int rank, int number) const { return {number, members_of(rank, number)}; }
  // As last reported: first without the groups that the rank has destroyed, then with them.
  [[nodiscard]] const RankStatus& status(int rank) const { return entry(rank).status; }
  [[nodiscard]] RankStatus status_with_destroyed(int rank) const;
  [[nodiscard]] bool has_left(int rank) const { return entry(rank).has_left; }

  // Status of `rank` in a group; null if it has entered no call of it, or associates other ranks with this number.
  [[nodiscard]] const GroupStatus* status_in(const GroupKey& group, int rank) const;
  // "has left" the job, or "has destroyed" the group; empty if neither.
  [[nodiscard]] std::string how_it_left(const GroupKey& group, int rank) const;
  // The running collectives, once each.
  [[nodiscard]] std::map<GroupKey, RunningBySequence> running_collectives() const;
  // The members that have not entered collective number `sequence`.
  [[nodiscard]] std::vector<int> missing_ranks(const GroupKey& group, std::uint64_t sequence) const;

  // For a send or recv of `rank`: the job's rank at the other end, if it has not begun its part; else -1.
  [[nodiscard]] int missing_peer(int rank, int group, const PairStatus& pair) const;
  // Whether `rank` is part of a cycle of ranks that wait for each other's messages: all send first, or all receive
  // first.
  [[nodiscard]] bool is_in_circle(int rank, int group, const PairStatus& pair) const;

 private:
  struct Entry {
    RankStatus status;
    std::map<int, Members> members;  // of groups it has registered
    RankStatus destroyed;            // last status in groups that it has destroyed and other members have not
    bool has_left = false;
  };
  [[nodiscard]] const Entry& entry(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Entry& entry(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  // Ranks that registered equal lists share one.
  [[nodiscard]] const Members& members_of(int rank, int group) const;

  const Members everybody_;
  std::vector<Entry> ranks_;
  std::map<int, std::vector<std::weak_ptr<const std::vector<int>>>> lists_;  // those in use, by group
};

}  // namespace lockstep::comm
