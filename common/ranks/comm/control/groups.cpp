// What the hub knows about groups of ranks, and about the calls that their members post.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "comm/control/hub.hpp"

namespace lockstep::comm {

const Members& ControlPlane::Hub::members_of(int number, int group) const {
  const auto& registered = ranks_[number].members;
  const auto found = registered.find(group);
  return found == registered.end() ? everybody_ : found->second;
}

// All members send the same list, which is kept once: a list per member would be P * P numbers per group.
void ControlPlane::Hub::register_group(int number, int group, const std::vector<int>& members) {
  auto& lists = lists_[group];
  std::erase_if(lists, [](const auto& list) { return list.expired(); });
  for (const auto& list : lists) {
    if (const Members known = list.lock(); *known == members) {
      ranks_[number].members[group] = known;
      return;
    }
  }
  const auto list = std::make_shared<const std::vector<int>>(members);
  lists.push_back(list);
  ranks_[number].members[group] = list;
}

// What a rank did last in a group stays until all of the group have destroyed it: they may still wait for each other.
void ControlPlane::Hub::forget_group(int number, int group, const RankStatus& last) {
  const auto found = last.find(group);
  ranks_[number].destroyed[group] = found == last.end() ? GroupStatus{} : found->second;
  ranks_[number].status.erase(group);
  const Members members = members_of(number, group);
  const auto is_same_group = [&](int member) { return members_of(member, group) == members; };
  const auto has_forgotten = [&](int member) {
    const Rank& rank = ranks_[member];
    return rank.has_left || (rank.destroyed.contains(group) && is_same_group(member));
  };
  if (!std::ranges::all_of(*members, has_forgotten)) return;
  ledger_.forget(group, members);
  for (const int member : *members) {
    if (!is_same_group(member)) continue;
    ranks_[member].destroyed.erase(group);
    if (member != number) ranks_[member].members.erase(group);
  }
  ranks_[number].members.erase(group);
  std::erase_if(lists_[group], [&](const auto& list) { return list.expired() || list.lock() == members; });
  if (lists_[group].empty()) lists_.erase(group);
}

// Tells each rank up to which calls all agree, in one message, however many calls that were.
void ControlPlane::Hub::compare_posted(int number, const ControlMessage& message) {
  std::map<int, ControlMessage> replies;
  for (const Fingerprint& call : message.calls) {
    const auto verdict = ledger_.add(number, message.group, members_of(number, message.group), call);
    for (const CallLedger::Agreement& agreement : verdict.agreements) {
      ControlMessage& reply = replies[agreement.rank];
      reply.type = ControlType::kPosted;
      reply.group = message.group;
      reply.calls.push_back(agreement.call);
    }
    if (verdict.disagreement) return open_inquiry({FailureKind::kMismatch, -1, *verdict.disagreement}, number);
  }
  for (const auto& [rank, reply] : replies) send(rank, reply);
}

}  // namespace lockstep::comm
