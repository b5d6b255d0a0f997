#pragma once
// Where each rank is in each of its groups, as it last said. Internal to the hub.
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

// A group of ranks. Groups of the same number with other members are different groups.
struct GroupKey {
  int number;
  Members members;
  auto operator<=>(const GroupKey&) const = default;
};

// A collective that ranks of a group run.
struct RunningCollective {
  Fingerprint call;
  int rank;                           // the first of those that run it
  std::chrono::milliseconds longest;  // that any of them has run it
};
using RunningBySequence = std::map<std::uint64_t, RunningCollective>;

// Keeps the reports of all ranks, and puts them side by side: who has entered a collective and who has not, who waits
// for whom. All ranks that it is told of are ranks of the job.
class GroupLedger {
 public:
  explicit GroupLedger(int world_size);

  // What `rank` says of its groups, in place of what it said before.
  void report(int rank, const RankStatus& status);
  // The same as its last report: the rank has left the job.
  void leave(int rank, const RankStatus& status);
  // Which ranks `rank` means by the number `group`; all ranks if it has never registered it.
  void register_group(int rank, int group, const std::vector<int>& members);
  // `rank` has destroyed the group, in which it was last where `last` says. The others may still wait for it there, so
  // that is kept until all members have destroyed the group. Returns the members then, else null.
  [[nodiscard]] Members forget_group(int rank, int group, const RankStatus& last);

  [[nodiscard]] const Members& everybody() const noexcept { return everybody_; }  // all ranks of the job
  [[nodiscard]] GroupKey group_of(int rank, int number) const { return {number, members_of(rank, number)}; }
  // As last reported, without the groups that the rank has destroyed; and with them.
  [[nodiscard]] const RankStatus& status(int rank) const { return entry(rank).status; }
  [[nodiscard]] RankStatus status_with_destroyed(int rank) const;
  [[nodiscard]] bool has_left(int rank) const { return entry(rank).has_left; }

  // What `rank` says about a group; null: it has entered nothing of it, or means other ranks by this number.
  [[nodiscard]] const GroupStatus* status_in(const GroupKey& group, int rank) const;
  // "has left" the job, or "has destroyed" the group; empty: neither.
  [[nodiscard]] std::string how_it_left(const GroupKey& group, int rank) const;
  // The collectives that run, once each, however many ranks run them.
  [[nodiscard]] std::map<GroupKey, RunningBySequence> running_collectives() const;
  // The members that have not entered collective number `sequence`.
  [[nodiscard]] std::vector<int> missing_ranks(const GroupKey& group, std::uint64_t sequence) const;

  // Of a send or recv of `rank`: the rank of the job at the other end, if it has not begun its part; else -1.
  [[nodiscard]] int missing_peer(int rank, int group, const PairStatus& pair) const;
  // Whether `rank` waits, in this message, for a rank that waits for another in one of its own, and so on round a
  // circle: all send first, or all receive first.
  [[nodiscard]] bool is_in_circle(int rank, int group, const PairStatus& pair) const;

 private:
  struct Entry {
    RankStatus status;
    std::map<int, Members> members;  // of the groups it has registered
    RankStatus destroyed;            // the last of groups that it has destroyed, and others of them have not
    bool has_left = false;
  };
  [[nodiscard]] const Entry& entry(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Entry& entry(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  // Ranks that registered equal lists have the same one.
  [[nodiscard]] const Members& members_of(int rank, int group) const;

  const Members everybody_;
  std::vector<Entry> ranks_;
  std::map<int, std::vector<std::weak_ptr<const std::vector<int>>>> lists_;  // those in use, by group
};

}  // namespace lockstep::comm
