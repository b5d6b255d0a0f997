// How the hub decides that the job has failed. control_explain.cpp has what it says then.
#include <algorithm>
#include <map>
#include <utility>

#include "base/number_list.hpp"
#include "base/text.hpp"
#include "comm/control/hub.hpp"

namespace lockstep::comm {

void ControlPlane::Hub::judge() {
  const auto now = Clock::now();
  // A hub that was stopped itself must not blame the ranks for the silence.
  if (now - std::exchange(last_step_, now) > context_.limits.liveness / 2) {
    for (Rank& rank : ranks_) rank.last_heard = now;
  }
  if (failure_) return;
  if (!is_ready_) return judge_joining();
  if (inquiry_) close_inquiry();
  if (now - last_look_ < tick_of(context_.limits)) return;  // thousands of messages may come in between
  last_look_ = now;
  judge_silence(now);
  if (!inquiry_) judge_progress();
}

void ControlPlane::Hub::judge_joining() {
  if (!join_deadline_.has_expired()) return;
  std::vector<int> missing;
  for (int number = 0; number < context_.world_size; ++number) {
    if (!ranks_[number].has_joined) missing.push_back(number);
  }
  tell({FailureKind::kTimeout, -1,
        concat("not all ranks connected to the control plane within ", format_seconds(join_deadline_.waited()),
               "; missing: ", missing.size() == 1 ? "rank " : "ranks ", list_numbers(missing))});
}

void ControlPlane::Hub::judge_silence(Clock::time_point now) {
  for (std::size_t number = 0; number < ranks_.size(); ++number) {
    const Rank& rank = ranks_[number];
    if (!rank.stream || now - rank.last_heard <= context_.limits.liveness) continue;
    tell({FailureKind::kSilent, static_cast<int>(number),
          concat("rank ", number, " is silent for ", format_seconds(now - rank.last_heard),
                 " (stopped, or its host unreachable)")});
  }
}

// All ranks of a group run the same few collectives, so each of those is looked at once, not once per rank.
void ControlPlane::Hub::judge_progress() {
  for (const auto& [group, running] : running_collectives()) {
    if (failure_ || inquiry_) return;
    compare(group, running);
    report_left(group, running);
    for (const auto& [sequence, collective] : running) report_missing(group, collective);
  }
  for (int number = 0; number < context_.world_size; ++number) {
    if (ranks_[number].has_left) continue;
    for (const auto& [group, status] : ranks_[number].status) {
      for (const PairStatus& pair : status.pairs) judge_pair(number, group, pair);
    }
  }
}

std::map<ControlPlane::Hub::GroupKey, ControlPlane::Hub::RunningBySequence> ControlPlane::Hub::running_collectives()
    const {
  std::map<GroupKey, RunningBySequence> by_group;
  for (int number = 0; number < context_.world_size; ++number) {
    if (ranks_[number].has_left) continue;
    for (const auto& [group, status] : ranks_[number].status) {
      if (!status.running) continue;
      RunningBySequence& running = by_group[{group, members_of(number, group)}];
      const Running here{*status.running, number, status.running_for};
      Running& first = running.try_emplace(status.running->sequence, here).first->second;
      first.longest = std::max(first.longest, status.running_for);
    }
  }
  return by_group;
}

const GroupStatus* ControlPlane::Hub::status_of(int other, const GroupKey& group) const {
  const auto& [number, members] = group;
  if (members_of(other, number) != members) return nullptr;
  const Rank& rank = ranks_[other];
  if (const auto found = rank.status.find(number); found != rank.status.end()) return &found->second;
  const auto last = rank.destroyed.find(number);
  return last == rank.destroyed.end() ? nullptr : &last->second;
}

std::string ControlPlane::Hub::how_it_left(int other, const GroupKey& group) const {
  if (ranks_[other].has_left) return "has left";
  const auto& [number, members] = group;
  const bool has_destroyed = ranks_[other].destroyed.contains(number) && members_of(other, number) == members;
  return has_destroyed ? "has destroyed its group" : "";
}

// Looks for a rank that called something else as the same number of the same group, now or a little while ago.
void ControlPlane::Hub::compare(const GroupKey& group, const RunningBySequence& running) {
  const auto differs = [&](int member, const Fingerprint& call) {
    const auto found = running.find(call.sequence);
    if (found == running.end() || found->second.call == call) return false;
    const Running& first = found->second;
    open_inquiry({FailureKind::kMismatch, -1,
                  concat("ranks called different collectives: rank ", first.rank, " ", describe(first.call), ", rank ",
                         member, " ", describe(call))},
                 first.rank);
    return true;
  };
  for (const int member : *group.second) {
    const GroupStatus* const status = status_of(member, group);
    if (status == nullptr) continue;
    if (std::ranges::any_of(status->ended, [&](const Fingerprint& call) { return differs(member, call); })) return;
    if (status->running && differs(member, *status->running)) return;
    if (status->issued && differs(member, *status->issued)) return;
  }
}

std::vector<int> ControlPlane::Hub::missing_ranks(const GroupKey& group, std::uint64_t sequence) const {
  std::vector<int> missing;
  for (const int member : *group.second) {
    const GroupStatus* const found = status_of(member, group);
    const bool has_entered = found != nullptr && found->issued && found->issued->sequence >= sequence;
    if (!has_entered) missing.push_back(member);
  }
  return missing;
}

void ControlPlane::Hub::report_left(const GroupKey& group, const RunningBySequence& running) {
  for (const int member : *group.second) {
    const std::string how = how_it_left(member, group);
    if (how.empty()) continue;
    const GroupStatus* const last = status_of(member, group);
    const bool has_entered = last != nullptr && last->issued;
    const auto missed = has_entered ? running.upper_bound(last->issued->sequence) : running.begin();
    if (missed == running.end()) continue;
    return tell({FailureKind::kLeft, member,
                 concat("rank ", member, " ", how, " without entering ", short_name(missed->second.call))});
  }
}

void ControlPlane::Hub::report_missing(const GroupKey& group, const Running& running) {
  if (failure_ || inquiry_ || running.longest < context_.limits.progress_report) return;
  const std::vector<int> missing = missing_ranks(group, running.call.sequence);
  if (missing.empty()) return;
  const std::string first = group.second->empty() ? "" : concat(group.second->front());
  if (!reported_.insert(concat(group.first, " from rank ", first, " #", running.call.sequence)).second) return;
  context_.log.warning(concat("waiting in ", describe(running.call), " for ", format_seconds(running.longest),
                              "; not entered by ", describe_ranks(missing, group)));
}

int ControlPlane::Hub::missing_peer(int number, int group, const PairStatus& pair) const {
  const Members& members = members_of(number, group);
  const int place = pair.operation.root;
  if (place < 0 || place >= static_cast<int>(members->size())) return -1;
  const int peer = (*members)[static_cast<std::size_t>(place)];
  const bool is_of_all = members == everybody_;
  const int own = is_of_all ? number : static_cast<int>(std::ranges::find(*members, number) - members->begin());
  const GroupStatus* const found = status_of(peer, {group, members});
  const bool is_there = found != nullptr && has_begun(*found, other_end_of(pair.operation, own));
  return is_there ? -1 : peer;
}

void ControlPlane::Hub::judge_pair(int number, int group, const PairStatus& pair) {
  if (failure_ || inquiry_) return;
  const int peer = missing_peer(number, group, pair);
  if (peer < 0) return;
  const std::string how = how_it_left(peer, {group, members_of(number, group)});
  if (!how.empty()) {
    tell({FailureKind::kLeft, peer,
          concat("rank ", peer, " ", how, " while rank ", number, " waits for it in ", describe(pair.operation))});
    return;
  }
  if (pair.running_for < context_.limits.progress_report) return;
  const std::string name = concat(group, " rank ", number, " ", short_name(pair.operation), " rank ", peer);
  if (reported_.insert(name).second) context_.log.warning(describe_pair(number, group, pair));
}

}  // namespace lockstep::comm
