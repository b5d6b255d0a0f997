#include "comm/control/hub/judge.hpp"

#include <algorithm>
#include <utility>

#include "base/number_list.hpp"
#include "base/text.hpp"
#include "comm/control/hub/explainer.hpp"

namespace lockstep::comm {
namespace {

// Time for ranks to report their status, one after another, before a mismatch or timeout is announced.
constexpr std::chrono::milliseconds kInquiryLimit{300}, kInquiryLimitPerRank{10};

}  // namespace

Decision Judge::fail(const Failure& failure) {
  tell(failure);
  return take_decision();
}

Decision Judge::inquire(const Failure& failure, int reporter, Clock::time_point now) {
  ask(failure, reporter, now);
  return take_decision();
}

Decision Judge::on_abort(int rank, const Failure& failure, Clock::time_point now) {
  if (inquiry_ && inquiry_->reporter == rank) return {};  // it leaves, and has given the reason
  return failure.kind == FailureKind::kAborted ? fail(failure) : inquire(failure, rank, now);
}

Decision Judge::check_deadlines(Clock::time_point now) {
  if (failure_) return {};
  if (!roster_.is_complete()) {
    if (now < join_deadline_.when()) return {};
    const std::vector<int> missing = roster_.missing();
    return fail({FailureKind::kTimeout, -1,
                 concat("not all ranks connected to the control plane within ", format_seconds(join_deadline_.waited()),
                        "; missing: ", missing.size() == 1 ? "rank " : "ranks ", list_numbers(missing))});
  }
  if (!inquiry_ || (!unanswered_.empty() && now < inquiry_->deadline)) return {};
  return fail(Explainer(groups_, unanswered_).explained(inquiry_->failure, inquiry_->reporter));
}

Decision Judge::look(Clock::time_point now) {
  if (failure_ || !roster_.is_complete()) return {};
  if (const auto silent = roster_.first_silent(now)) {
    tell({FailureKind::kSilent, silent->rank,
          concat("rank ", silent->rank, " is silent for ", format_seconds(silent->silence),
                 " (stopped, or its host unreachable)")});
  }
  if (!is_decided()) judge_progress(now);
  return take_decision();
}

void Judge::tell(const Failure& failure) {
  if (failure_) return;
  failure_ = failure;
  inquiry_.reset();
  unanswered_.clear();
  decision_.messages.push_back({.type = ControlType::kFailure, .status = {}, .failure = failure});
}

void Judge::ask(const Failure& failure, int reporter, Clock::time_point now) {
  if (is_decided()) return;
  for (const int rank : *groups_.everybody()) {
    if (roster_.is_connected(rank)) unanswered_.insert(rank);
  }
  inquiry_ = Inquiry{failure, reporter, now + kInquiryLimit + kInquiryLimitPerRank * std::ssize(unanswered_)};
  decision_.messages.push_back({.type = ControlType::kQuery, .status = {}, .failure = {}});
}

// All ranks of a group run the same few collectives, so each of those is checked once, not once per rank.
void Judge::judge_progress(Clock::time_point now) {
  for (const auto& [group, running] : groups_.running_collectives()) {
    if (is_decided()) return;
    compare(group, running, now);
    report_left(group, running);
    for (const auto& [sequence, collective] : running) report_missing(group, collective);
  }
  for (const int rank : *groups_.everybody()) {
    if (groups_.has_left(rank)) continue;
    for (const auto& [group, status] : groups_.status(rank)) {
      for (const PairStatus& pair : status.pairs) judge_pair(rank, group, pair);
    }
  }
}

// Looks for a rank whose call with the same number in the same group differs, now or recently.
void Judge::compare(const GroupKey& group, const RunningBySequence& running, Clock::time_point now) {
  const auto differs = [&](int member, const Fingerprint& call) {
    const auto found = running.find(call.sequence);
    if (found == running.end() || found->second.call == call) return false;
    const RunningCollective& first = found->second;
    ask({FailureKind::kMismatch, -1,
         concat("ranks called different collectives: rank ", first.rank, " ", describe(first.call), ", rank ", member,
                " ", describe(call))},
        first.rank, now);
    return true;
  };
  for (const int member : *group.members) {
    const GroupStatus* const status = groups_.status_in(group, member);
    if (status == nullptr) continue;
    if (std::ranges::any_of(status->ended, [&](const Fingerprint& call) { return differs(member, call); })) return;
    if (status->running && differs(member, *status->running)) return;
    if (status->issued && differs(member, *status->issued)) return;
  }
}

void Judge::report_left(const GroupKey& group, const RunningBySequence& running) {
  for (const int member : *group.members) {
    const std::string how = groups_.how_it_left(group, member);
    if (how.empty()) continue;
    const GroupStatus* const last = groups_.status_in(group, member);
    const bool has_entered = last != nullptr && last->issued;
    const auto missed = has_entered ? running.upper_bound(last->issued->sequence) : running.begin();
    if (missed == running.end()) continue;
    return tell({FailureKind::kLeft, member,
                 concat("rank ", member, " ", how, " without entering ", short_name(missed->second.call))});
  }
}

void Judge::report_missing(const GroupKey& group, const RunningCollective& running) {
  if (is_decided() || running.longest < limits_.progress_report) return;
  const std::vector<int> missing = groups_.missing_ranks(group, running.call.sequence);
  if (missing.empty()) return;
  const std::string first = group.members->empty() ? "" : concat(group.members->front());
  if (!reported_.insert(concat(group.number, " from rank ", first, " #", running.call.sequence)).second) return;
  decision_.warnings.push_back(concat("waiting in ", describe(running.call), " for ", format_seconds(running.longest),
                                      "; not entered by ",
                                      Explainer(groups_, unanswered_).describe_ranks(missing, group)));
}

void Judge::judge_pair(int rank, int group, const PairStatus& pair) {
  if (is_decided()) return;
  const int peer = groups_.missing_peer(rank, group, pair);
  if (peer < 0) return;
  const std::string how = groups_.how_it_left(groups_.group_of(rank, group), peer);
  if (!how.empty()) {
    tell({FailureKind::kLeft, peer,
          concat("rank ", peer, " ", how, " while rank ", rank, " waits for it in ", describe(pair.operation))});
    return;
  }
  if (pair.running_for < limits_.progress_report) return;
  const std::string name = concat(group, " rank ", rank, " ", short_name(pair.operation), " rank ", peer);
  if (!reported_.insert(name).second) return;
  decision_.warnings.push_back(Explainer(groups_, unanswered_).describe_pair(rank, group, pair));
}

}  // namespace lockstep::comm
