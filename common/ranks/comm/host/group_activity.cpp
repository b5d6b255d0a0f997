#include "comm/host/group_activity.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace lockstep::comm {
namespace {

// The counter of agreed calls: one per direction and peer, or one for all collectives of the group.
PairEnd counter_of(const Fingerprint& call) {
  return is_point_to_point(call.collective) ? PairEnd{call.collective, call.root} : PairEnd{Collective::kBarrier, -1};
}

// True once the running call has passed another reporting threshold.
bool is_report_due(int& report_count, std::chrono::steady_clock::duration age, const JobLimits& limits) {
  const std::array<std::chrono::milliseconds, 2> ages{tick_of(limits), limits.progress_report};
  const int before = report_count;
  while (report_count < 2 && age >= ages[static_cast<std::size_t>(report_count)]) ++report_count;
  return report_count > before;
}

}  // namespace

void GroupActivity::note(int group, const Fingerprint& call, CallStep step) {
  Group& entry = groups_[group];
  if (is_point_to_point(call.collective)) return note_pair(entry, call, step);
  switch (step) {
    case CallStep::kIssued:
      entry.issued = call;
      break;
    case CallStep::kStarted:
      entry.running = call;
      entry.running_since = Clock::now();
      entry.report_count = 0;
      break;
    case CallStep::kEnded:
      if (entry.running) entry.ended[entry.ended_count++ % kKeptCollectives] = *entry.running;
      entry.running.reset();
      break;
  }
}

// Issued calls that do not run yet are not reported: messages are counted when they begin.
void GroupActivity::note_pair(Group& group, const Fingerprint& operation, CallStep step) {
  if (step == CallStep::kStarted) {
    group.begun[{operation.collective, operation.root}] = operation.sequence + 1;  // numbers count from 0
    group.pairs.push_back({operation, Clock::now()});
  }
  if (step != CallStep::kEnded) return;
  const auto found = std::ranges::find(group.pairs, operation, &PairOperation::operation);
  if (found != group.pairs.end()) group.pairs.erase(found);
}

void GroupActivity::on_agreed(int group, const Fingerprint& call) {
  const auto found = groups_.find(group);
  if (found != groups_.end()) found->second.agreed[counter_of(call)] = call.sequence + 1;  // numbers count from 0
}

bool GroupActivity::is_agreed(int group, const Fingerprint& call) const {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return false;
  const auto count = found->second.agreed.find(counter_of(call));
  return count != found->second.agreed.end() && count->second > call.sequence;
}

bool GroupActivity::take_due_report(const JobLimits& limits) {
  const auto now = Clock::now();
  bool is_due = false;
  for (auto& [id, group] : groups_) {
    if (group.running && is_report_due(group.report_count, now - group.running_since, limits)) is_due = true;
    for (PairOperation& pair : group.pairs) {
      if (is_report_due(pair.report_count, now - pair.running_since, limits)) is_due = true;
    }
  }
  return is_due;
}

GroupStatus GroupActivity::status_of(const Group& group) {
  const auto since = [now = Clock::now()](Clock::time_point begin) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - begin);
  };
  GroupStatus status;
  status.issued = group.issued;
  status.running = group.running;
  status.ended.assign(group.ended.begin(), group.ended.begin() + std::min(group.ended_count, kKeptCollectives));
  if (group.running) status.running_for = since(group.running_since);
  for (const PairOperation& pair : group.pairs) status.pairs.push_back({pair.operation, since(pair.running_since)});
  status.begun = group.begun;
  return status;
}

RankStatus GroupActivity::status() const {
  RankStatus status;
  for (const auto& [id, group] : groups_) status[id] = status_of(group);
  return status;
}

RankStatus GroupActivity::forget_group(int group) {
  RankStatus last;
  if (const auto found = groups_.find(group); found != groups_.end()) last[group] = status_of(found->second);
  groups_.erase(group);
  members_.erase(group);
  return last;
}

std::string GroupActivity::to_text() const {
  return describe_status(status(), [this](int group, int peer) { return rank_of_job(group, peer); });
}

std::string GroupActivity::missing_from_rank_0(const RankStatus& left_behind, int own_rank) const {
  for (const auto& [id, group] : groups_) {
    const int hub = rank_in(id, 0), own = rank_in(id, own_rank);
    if (hub < 0) continue;
    const auto found = left_behind.find(id);
    const GroupStatus last = found == left_behind.end() ? GroupStatus{} : found->second;
    if (group.running && (!last.issued || last.issued->sequence < group.running->sequence)) {
      return concat("rank 0 has left without entering ", short_name(*group.running));
    }
    for (const PairOperation& pair : group.pairs) {
      if (pair.operation.root != hub || has_begun(last, other_end_of(pair.operation, own))) continue;
      return concat("rank 0 has left while rank ", own_rank, " waits for it in ", describe(pair.operation));
    }
  }
  return "";
}

// The rank in a group of a rank of the job; -1 if it is not a member.
int GroupActivity::rank_in(int group, int rank) const {
  const auto found = members_.find(group);
  if (found == members_.end()) return rank;
  const auto place = std::ranges::find(found->second, rank);
  return place == found->second.end() ? -1 : static_cast<int>(place - found->second.begin());
}

// The rank of the job of a group's rank; `peer` itself if the group is not registered.
int GroupActivity::rank_of_job(int group, int peer) const {
  const auto found = members_.find(group);
  if (found == members_.end() || peer < 0 || peer >= static_cast<int>(found->second.size())) return peer;
  return found->second[static_cast<std::size_t>(peer)];
}

}  // namespace lockstep::comm
