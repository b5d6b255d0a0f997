#include "comm/control/hub/group_ledger.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lockstep::comm {
namespace {

Members all_ranks(int world_size) {
  std::vector<int> all(static_cast<std::size_t>(world_size));
  std::iota(all.begin(), all.end(), 0);
  return std::make_shared<const std::vector<int>>(std::move(all));
}

}  // namespace

GroupLedger::GroupLedger(int world_size) : everybody_(all_ranks(world_size)), ranks_(everybody_->size()) {}

void GroupLedger::report(int rank, const RankStatus& status) { entry(rank).status = status; }

void GroupLedger::leave(int rank, const RankStatus& status) {
  report(rank, status);
  entry(rank).has_left = true;
}

const Members& GroupLedger::members_of(int rank, int group) const {
  const auto& registered = entry(rank).members;
  const auto found = registered.find(group);
  return found == registered.end() ? everybody_ : found->second;
}

// All members send the same list, which is kept once: a list per member would take P * P numbers per group.
void GroupLedger::register_group(int rank, int group, const std::vector<int>& members) {
  auto& lists = lists_[group];
  std::erase_if(lists, [](const auto& list) { return list.expired(); });
  for (const auto& list : lists) {
    if (const Members known = list.lock(); *known == members) {
      entry(rank).members[group] = known;
      return;
    }
  }
  const auto list = std::make_shared<const std::vector<int>>(members);
  lists.push_back(list);
  entry(rank).members[group] = list;
}

Members GroupLedger::forget_group(int rank, int group, const RankStatus& last) {
  const auto found = last.find(group);
  entry(rank).destroyed[group] = found == last.end() ? GroupStatus{} : found->second;
  entry(rank).status.erase(group);
  const Members members = members_of(rank, group);
  const auto is_same_group = [&](int member) { return members_of(member, group) == members; };
  const auto has_forgotten = [&](int member) {
    return has_left(member) || (entry(member).destroyed.contains(group) && is_same_group(member));
  };
  if (!std::ranges::all_of(*members, has_forgotten)) return nullptr;
  for (const int member : *members) {
    if (!is_same_group(member)) continue;
    entry(member).destroyed.erase(group);
    if (member != rank) entry(member).members.erase(group);
  }
  entry(rank).members.erase(group);
  std::erase_if(lists_[group], [&](const auto& list) { return list.expired() || list.lock() == members; });
  if (lists_[group].empty()) lists_.erase(group);
  return members;
}

RankStatus GroupLedger::status_with_destroyed(int rank) const {
  RankStatus all = entry(rank).status;
  all.insert(entry(rank).destroyed.begin(), entry(rank).destroyed.end());
  return all;
}

const GroupStatus* GroupLedger::status_in(const GroupKey& group, int rank) const {
  if (members_of(rank, group.number) != group.members) return nullptr;
  const auto& [status, members, destroyed, has_left] = entry(rank);
  if (const auto found = status.find(group.number); found != status.end()) return &found->second;
  const auto last = destroyed.find(group.number);
  return last == destroyed.end() ? nullptr : &last->second;
}

std::string GroupLedger::how_it_left(const GroupKey& group, int rank) const {
  if (has_left(rank)) return "has left";
  const bool has_destroyed =
      entry(rank).destroyed.contains(group.number) && members_of(rank, group.number) == group.members;
  return has_destroyed ? "has destroyed its group" : "";
}

std::map<GroupKey, RunningBySequence> GroupLedger::running_collectives() const {
  std::map<GroupKey, RunningBySequence> by_group;
  for (const int rank : *everybody_) {
    if (has_left(rank)) continue;
    for (const auto& [group, in_group] : status(rank)) {
      if (!in_group.running) continue;
      const RunningCollective here{*in_group.running, rank, in_group.running_for};
      RunningBySequence& running = by_group[group_of(rank, group)];
      RunningCollective& first = running.try_emplace(in_group.running->sequence, here).first->second;
      first.longest = std::max(first.longest, in_group.running_for);
    }
  }
  return by_group;
}

std::vector<int> GroupLedger::missing_ranks(const GroupKey& group, std::uint64_t sequence) const {
  std::vector<int> missing;
  for (const int member : *group.members) {
    const GroupStatus* const found = status_in(group, member);
    const bool has_entered = found != nullptr && found->issued && found->issued->sequence >= sequence;
    if (!has_entered) missing.push_back(member);
  }
  return missing;
}

int GroupLedger::missing_peer(int rank, int group, const PairStatus& pair) const {
  const Members& members = members_of(rank, group);
  const int place = pair.operation.root;
  if (place < 0 || place >= static_cast<int>(members->size())) return -1;
  const int peer = (*members)[static_cast<std::size_t>(place)];
  const bool is_of_all = members == everybody_;
  const int own = is_of_all ? rank : static_cast<int>(std::ranges::find(*members, rank) - members->begin());
  const GroupStatus* const found = status_in({group, members}, peer);
  const bool is_there = found != nullptr && has_begun(*found, other_end_of(pair.operation, own));
  return is_there ? -1 : peer;
}

bool GroupLedger::is_in_circle(int rank, int group, const PairStatus& pair) const {
  const PairStatus* waiting = &pair;
  for (std::size_t step = 0; step < ranks_.size(); ++step) {  // after that many steps some rank has been visited twice
    const int peer = missing_peer(rank, group, *waiting);
    const GroupStatus* const found = peer < 0 ? nullptr : status_in(group_of(rank, group), peer);
    if (found == nullptr) return false;
    const auto waits = [&](const PairStatus& other) { return missing_peer(peer, group, other) >= 0; };
    const auto next = std::ranges::find_if(found->pairs, waits);
    if (next == found->pairs.end()) return false;
    waiting = &*next;
    rank = peer;
  }
  return true;
}

}  // namespace lockstep::comm
