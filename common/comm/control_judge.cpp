// How the hub decides that the job has failed, and what it says then.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/text.hpp"
#include "comm/control_hub.hpp"

namespace lockstep::comm {

void ControlPlane::Hub::judge() {
  const auto now = Clock::now();
  // A hub that was stopped itself must not blame the ranks for the silence.
  if (now - std::exchange(last_step_, now) > context_.limits.liveness / 2) {
    for (Rank& rank : ranks_) rank.last_heard = now;
  }
  if (failure_) return;
  if (!is_ready_) return judge_joining();
  judge_silence(now);
  if (inquiry_)
    close_inquiry();
  else
    judge_progress();
}

void ControlPlane::Hub::judge_joining() {
  if (!join_deadline_.has_expired()) return;
  std::string missing;
  for (std::size_t number = 0; number < ranks_.size(); ++number) {
    if (!ranks_[number].has_joined) missing += concat(missing.empty() ? "rank " : ", rank ", number);
  }
  tell({FailureKind::kTimeout, -1,
        concat("not all ranks connected to the control plane within ", format_seconds(join_deadline_.waited()),
               "; missing: ", missing)});
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

void ControlPlane::Hub::judge_progress() {
  for (int number = 0; number < context_.world_size; ++number) {
    if (ranks_[number].has_left) continue;
    for (const auto& [group, status] : ranks_[number].status) {
      if (failure_ || inquiry_) return;
      if (status.running) {
        compare(number, group, status);
        report_missing(number, group, status);
      }
      for (const PairStatus& pair : status.pairs) judge_pair(number, group, pair);
    }
  }
}

std::vector<int> ControlPlane::Hub::members_of(int number, int group) const {
  const auto found = ranks_[number].members.find(group);
  if (found != ranks_[number].members.end()) return found->second;
  std::vector<int> all(ranks_.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

bool ControlPlane::Hub::is_same_group(int first, int second, int group) const {
  const auto &of_first = ranks_[first].members, &of_second = ranks_[second].members;
  const auto one = of_first.find(group), other = of_second.find(group);
  if (one == of_first.end() || other == of_second.end()) return one == of_first.end() && other == of_second.end();
  return one->second == other->second;
}

const GroupStatus* ControlPlane::Hub::status_of(int other, int number, int group) const {
  if (!is_same_group(number, other, group)) return nullptr;
  const Rank& rank = ranks_[other];
  if (const auto found = rank.status.find(group); found != rank.status.end()) return &found->second;
  const auto last = rank.destroyed.find(group);
  return last == rank.destroyed.end() ? nullptr : &last->second;
}

std::string ControlPlane::Hub::how_it_left(int other, int number, int group) const {
  if (ranks_[other].has_left) return "has left";
  const bool has_destroyed = is_same_group(number, other, group) && ranks_[other].destroyed.contains(group);
  return has_destroyed ? "has destroyed its group" : "";
}

// Looks for a rank that called something else as the same number of the same group, now or a little while ago.
void ControlPlane::Hub::compare(int number, int group, const GroupStatus& status) {
  for (const int member : members_of(number, group)) {
    const GroupStatus* const found = status_of(member, number, group);
    if (found == nullptr) continue;
    std::vector<Fingerprint> called = found->ended;
    for (const auto& current : {found->running, found->issued}) {
      if (current) called.push_back(*current);
    }
    const auto other = std::ranges::find(called, status.running->sequence, &Fingerprint::sequence);
    if (other == called.end() || *other == *status.running) continue;
    open_inquiry({FailureKind::kMismatch, -1,
                  concat("ranks called different collectives: rank ", number, " ", describe(*status.running), ", rank ",
                         member, " ", describe(*other))},
                 number);
    return;
  }
}

std::vector<int> ControlPlane::Hub::missing_ranks(int number, int group, std::uint64_t sequence) const {
  std::vector<int> missing;
  for (const int member : members_of(number, group)) {
    const GroupStatus* const found = status_of(member, number, group);
    const bool has_entered = found != nullptr && found->issued && found->issued->sequence >= sequence;
    if (!has_entered) missing.push_back(member);
  }
  return missing;
}

void ControlPlane::Hub::report_missing(int number, int group, const GroupStatus& status) {
  const std::vector<int> missing = missing_ranks(number, group, status.running->sequence);
  for (const int member : missing) {
    const std::string how = how_it_left(member, number, group);
    if (how.empty()) continue;
    tell({FailureKind::kLeft, member,
          concat("rank ", member, " ", how, " without entering ", short_name(*status.running))});
    return;
  }
  if (missing.empty() || status.running_for < context_.limits.progress_report) return;
  const std::string first = members_of(number, group).empty() ? "" : concat(members_of(number, group).front());
  if (!reported_.insert(concat(group, " from rank ", first, " #", status.running->sequence)).second) return;
  context_.log.warning(concat("waiting in ", describe(*status.running), " for ", format_seconds(status.running_for),
                              "; not entered by ", describe_ranks(missing, number, group)));
}

int ControlPlane::Hub::missing_peer(int number, int group, const PairStatus& pair) const {
  const std::vector<int> members = members_of(number, group);
  const int place = pair.operation.root;
  if (place < 0 || place >= static_cast<int>(members.size())) return -1;
  const int peer = members[static_cast<std::size_t>(place)];
  const int own = static_cast<int>(std::ranges::find(members, number) - members.begin());
  const GroupStatus* const found = status_of(peer, number, group);
  const bool is_there = found != nullptr && has_begun(*found, other_end_of(pair.operation, own));
  return is_there ? -1 : peer;
}

void ControlPlane::Hub::judge_pair(int number, int group, const PairStatus& pair) {
  const int peer = missing_peer(number, group, pair);
  if (peer < 0 || failure_ || inquiry_) return;
  const std::string how = how_it_left(peer, number, group);
  if (!how.empty()) {
    tell({FailureKind::kLeft, peer,
          concat("rank ", peer, " ", how, " while rank ", number, " waits for it in ", describe(pair.operation))});
    return;
  }
  if (pair.running_for < context_.limits.progress_report) return;
  const std::string name = concat(group, " rank ", number, " ", short_name(pair.operation), " rank ", peer);
  if (reported_.insert(name).second) context_.log.warning(describe_pair(number, peer, pair));
}

std::string ControlPlane::Hub::describe_pair(int number, int peer, const PairStatus& pair) const {
  return concat("rank ", number, " waits for rank ", peer, " in ", describe(pair.operation), " for ",
                format_seconds(pair.running_for), "; rank ", peer, ": ", describe_rank(peer));
}

std::string ControlPlane::Hub::describe_ranks(const std::vector<int>& ranks, int number, int group) const {
  std::string text;
  for (const int rank : ranks) {
    const GroupStatus* const found = status_of(rank, number, group);
    const bool has_entered = found != nullptr && found->issued;
    text += concat(text.empty() ? "" : ", ", "rank ", rank, " ");
    text += has_entered ? concat("(last entered ", describe(*found->issued), ")") : "(has entered nothing)";
  }
  return text;
}

std::string ControlPlane::Hub::describe_rank(int number) const {
  const std::string text = describe_status(ranks_[number].status, [&](int group, int place) {
    const std::vector<int> members = members_of(number, group);
    return place >= 0 && place < static_cast<int>(members.size()) ? members[static_cast<std::size_t>(place)] : place;
  });
  return text + (ranks_[number].has_left ? " (has left)" : "");
}

std::string ControlPlane::Hub::describe_all() const {
  std::string text;
  for (int number = 0; number < context_.world_size; ++number) {
    text += concat(number == 0 ? "" : "; ", "rank ", number, ": ", describe_rank(number));
  }
  return text;
}

void ControlPlane::Hub::close_inquiry() {
  const bool is_complete =
      std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.has_answered || !rank.stream; });
  if (is_complete || inquiry_->deadline.has_expired()) tell(explained(inquiry_->failure, inquiry_->reporter));
}

Failure ControlPlane::Hub::explained(Failure failure, int reporter) const {
  if (failure.kind == FailureKind::kMismatch) {
    failure.message += concat(" [", describe_all(), "]");
    name_outlier(failure, reporter);
  }
  if (failure.kind == FailureKind::kTimeout && !explain_timeout(failure, reporter)) {
    for (int number = 0; number < context_.world_size; ++number) {
      if (explain_timeout(failure, number)) return failure;
    }
    const auto waits = [](const auto& of_group) { return of_group.second.running || !of_group.second.pairs.empty(); };
    const bool is_in_call = std::ranges::any_of(ranks_[reporter].status, waits);  // or it waits for a rank to join it
    failure.message += concat(is_in_call ? "; all have entered it [" : " [", describe_all(), "]");
  }
  return failure;
}

// Names whom rank `number` waits for, if anybody.
bool ControlPlane::Hub::explain_timeout(Failure& failure, int number) const {
  for (const auto& [group, status] : ranks_[number].status) {
    const auto missing = status.running ? missing_ranks(number, group, status.running->sequence) : std::vector<int>{};
    if (!missing.empty()) {
      if (missing.size() == 1) failure.culprit = missing.front();
      failure.message += concat("; not entered by ", describe_ranks(missing, number, group));
      return true;
    }
    for (const PairStatus& pair : status.pairs) {
      const int peer = missing_peer(number, group, pair);
      if (peer < 0) continue;
      failure.culprit = peer;
      failure.message += concat("; ", describe_pair(number, peer, pair));
      return true;
    }
  }
  return false;
}

// Where one rank alone differs from two or more that agree, it is the one to look at.
void ControlPlane::Hub::name_outlier(Failure& failure, int reporter) const {
  for (const auto& [group, status] : ranks_[reporter].status) {
    if (!status.running) continue;
    std::map<net::FrameTag, std::vector<int>> callers;  // by what they called
    for (const int member : members_of(reporter, group)) {
      const GroupStatus* const found = status_of(member, reporter, group);
      if (found == nullptr || !found->running || found->running->sequence != status.running->sequence) continue;
      callers[to_tag(*found->running)].push_back(member);
    }
    if (callers.size() != 2) continue;
    const auto& one = callers.begin()->second;
    const auto& other = callers.rbegin()->second;
    const auto& odd = one.size() == 1 ? one : other;
    const auto& agreed = one.size() == 1 ? other : one;
    if (odd.size() != 1 || agreed.size() < 2) continue;  // of two ranks neither is the odd one
    failure.culprit = odd.front();
    failure.message += concat("; rank ", odd.front(), " differs from the others");
    return;
  }
}

}  // namespace lockstep::comm
