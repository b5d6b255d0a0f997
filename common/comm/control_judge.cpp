// How the hub decides that the job has failed, and what it says then.
#include <algorithm>
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
  if (!is_ready_ || has_failed_) return;
  judge_silence(now);
  if (inquiry_)
    close_inquiry();
  else
    judge_progress();
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
  for (const Rank& rank : ranks_) {
    if (rank.has_left) continue;
    for (const auto& [group, status] : rank.status) {
      if (!status.running || has_failed_ || inquiry_) continue;
      compare(group, status);
      report_missing(group, status);
    }
  }
}

// Looks for a rank that called something else as the same number of the same group.
void ControlPlane::Hub::compare(int group, const GroupStatus& status) {
  for (const Rank& rank : ranks_) {
    const auto found = rank.status.find(group);
    if (found == rank.status.end()) continue;
    const Fingerprint& other = found->second.running.value_or(found->second.issued);
    if (other.sequence != status.running->sequence || other == *status.running) continue;
    open_inquiry({FailureKind::kMismatch, -1, "ranks called different collectives"});
    return;
  }
}

std::vector<int> ControlPlane::Hub::missing_ranks(int group, std::uint64_t sequence) const {
  std::vector<int> missing;
  for (std::size_t number = 0; number < ranks_.size(); ++number) {
    const auto found = ranks_[number].status.find(group);
    const bool has_entered = found != ranks_[number].status.end() && found->second.issued.sequence >= sequence;
    if (!has_entered) missing.push_back(static_cast<int>(number));
  }
  return missing;
}

void ControlPlane::Hub::report_missing(int group, const GroupStatus& status) {
  const std::vector<int> missing = missing_ranks(group, status.running->sequence);
  for (const int number : missing) {
    if (!ranks_[number].has_left) continue;
    tell({FailureKind::kLeft, number,
          concat("rank ", number, " has left without entering ", short_name(*status.running))});
    return;
  }
  const bool is_late = status.running_for >= context_.limits.progress_report;
  if (missing.empty() || !is_late || !reported_.emplace(group, status.running->sequence).second) return;
  context_.log.warning(concat("waiting in ", describe(*status.running), " for ", format_seconds(status.running_for),
                              "; not entered by ", describe_ranks(missing, group)));
}

std::string ControlPlane::Hub::describe_ranks(const std::vector<int>& ranks, int group) const {
  std::string text;
  for (const int number : ranks) {
    const auto found = ranks_[number].status.find(group);
    text += concat(text.empty() ? "" : ", ", "rank ", number, " ");
    text += found == ranks_[number].status.end() ? "(has entered nothing)"
                                                 : concat("(last entered ", describe(found->second.issued), ")");
  }
  return text;
}

std::string ControlPlane::Hub::describe_all() const {
  std::string text;
  for (std::size_t number = 0; number < ranks_.size(); ++number) {
    text += concat(number == 0 ? "" : "; ", "rank ", number, ": ");
    if (ranks_[number].status.empty()) text += "nothing yet";
    for (const auto& [group, status] : ranks_[number].status) {
      text += concat(group == ranks_[number].status.begin()->first ? "" : ", ",
                     describe(status.running.value_or(status.issued)), group == 0 ? "" : concat(" of group ", group));
    }
    if (ranks_[number].has_left) text += " (has left)";
  }
  return text;
}

void ControlPlane::Hub::close_inquiry() {
  const bool is_complete =
      std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.has_answered || !rank.stream; });
  if (!is_complete && !inquiry_->deadline.has_expired()) return;
  Failure failure = inquiry_->failure;
  if (failure.kind == FailureKind::kMismatch) failure.message += concat(" [", describe_all(), "]");
  if (failure.kind == FailureKind::kTimeout) {
    for (const Rank& rank : ranks_) {
      for (const auto& [group, status] : rank.status) {
        if (!status.running) continue;
        const auto missing = missing_ranks(group, status.running->sequence);
        if (missing.empty()) continue;
        if (missing.size() == 1) failure.culprit = missing.front();
        failure.message += concat("; not entered by ", describe_ranks(missing, group));
        return tell(failure);
      }
    }
  }
  tell(failure);
}

}  // namespace lockstep::comm
