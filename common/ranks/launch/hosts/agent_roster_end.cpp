#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/preemption.hpp"
#include "launch/hosts/agent_roster.hpp"
#include "launch/local/wait_status.hpp"

// How a generation ends, and what comes after it.
namespace lockstep::launch {
namespace {

using namespace std::chrono_literals;

// Within which the cause of a failure may be heard of later than what it has led to: what was killed takes time to end,
// and hosts are not equally far away.
constexpr auto kLateCause = 1500ms;

std::string ranks_text(int first, int count) {
  return count == 1 ? concat("rank ", first) : concat("ranks ", first, " to ", first + count - 1);  // - 1: the last
}

// Unlike Ctrl-C, and a terminal that closes. Whatever signal a launcher takes as a preemption's notice is one.
bool asks_to_make_room(int signal) { return signal != SIGINT && signal != SIGHUP; }

bool is_request_to_end(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }

}  // namespace

void AgentRoster::take_failure(int agent, const FailureMessage& message) {
  if (message.generation != generation_ || member(agent) == nullptr) return;
  Cause cause{
      .kind = Cause::Kind::kRank,
      .agent = agent,
      .exit_code = message.exit_code,
      .rank = message.rank,
      .text = concat("rank ", message.rank, " on ", describe(agent_of_rank(message.rank, agent)), " ", message.what),
      .last_lines = message.last_lines};
  if (phase_ == Phase::kRunning) return end_generation(std::move(cause));
  // The host of a rank that another host's ranks have named: it knows more.
  const bool is_named = phase_ == Phase::kEnding && cause_->kind == Cause::Kind::kRank &&
                        cause_->rank == message.rank && cause_->agent != agent &&
                        agent_of_rank(message.rank, -1) == agent;
  if (is_named) {
    cause.when = cause_->when;
    cause_ = std::move(cause);
    return tell_all(NoticeMessage{cause_->text});
  }
  // Killed: by nobody here, so it is no consequence of what has been heard of first.
  const bool is_killed = message.exit_code == 128 + SIGKILL;
  const bool is_late = phase_ == Phase::kEnding && cause_->kind == Cause::Kind::kRank && cause_->exit_code < 128;
  if (is_late && is_killed) correct_cause(std::move(cause));
}

void AgentRoster::take_leave(int agent, int signal) {
  if (signal == kLauncherLost) {
    actions_.drop(agent);
    return lose(agent, "the launcher that had started it there has gone", Deadline::Clock::now());
  }
  agents_.at(agent).has_left = true;
  if (is_own(agents_.at(agent).join)) own_signal_ = signal;
  Cause cause{.kind = Cause::Kind::kSignal,
              .agent = agent,
              .exit_code = 128 + signal,
              .text = concat(describe(agent), " was asked to end by ", signal_name(signal)),
              .last_lines = {}};
  if (phase_ == Phase::kRunning && member(agent) != nullptr) return end_generation(std::move(cause));
  if (phase_ == Phase::kEnding && cause_->agent == agent && is_request_to_end(cause_->exit_code - 128)) {
    cause_ = std::move(cause);  // its ranks got the same signal first
    return;
  }
  const bool waits = phase_ == Phase::kGathering || phase_ == Phase::kPausing;
  if (waits && own_signal_) return give_verdict({cause.exit_code, cause.text, {}});
  if (waits) tell_all(NoticeMessage{cause.text}, agent);
}

void AgentRoster::take_end(int agent, const EndedMessage& message) {
  Member* ended = member(agent);
  if (message.generation != generation_ || ended == nullptr || ended->has_ended) return;
  ended->has_ended = true;
  ended->exit_code = message.exit_code;
  if (cause_ && cause_->agent == agent && cause_->kind == Cause::Kind::kRank) cause_->last_lines = message.last_lines;
  if (phase_ == Phase::kRunning && message.exit_code == kRequeueExitCode) {
    end_generation({.kind = Cause::Kind::kPreempted,
                    .agent = agent,
                    .exit_code = kRequeueExitCode,
                    .text = concat("the ranks of ", describe(agent), " were asked to stop and have saved"),
                    .last_lines = {}});
    return;
  }
  if (phase_ == Phase::kRunning && message.exit_code != 0) {
    end_generation({.kind = Cause::Kind::kRank,
                    .agent = agent,
                    .exit_code = message.exit_code,
                    .text = concat("the ranks of ", describe(agent), " ended with code ", message.exit_code),
                    .last_lines = message.last_lines});
    return;
  }
  conclude_if_ended();
}

void AgentRoster::lose(int agent, const std::string& why, Deadline::Clock::time_point last_heard) {
  const auto found = agents_.find(agent);
  if (found == agents_.end()) return;
  Cause cause{.kind = Cause::Kind::kHost,
              .agent = agent,
              .exit_code = 1,
              .text = concat(describe(agent), " is lost: ", why),
              .last_lines = {}};
  const bool has_left = found->second.has_left;
  Member* lost = member(agent);
  if (lost != nullptr && !lost->has_ended)
    cause.text += concat(" (", ranks_text(lost->first_rank, found->second.join.local_world_size), ")");
  agents_.erase(found);
  if (phase_ == Phase::kOver) return;
  if (lost == nullptr || lost->has_ended) {
    if (!has_left) tell_all(NoticeMessage{cause.text});
    return start_if_gathering();
  }
  lost->has_ended = true;
  if (has_left) return conclude_if_ended();
  if (phase_ == Phase::kRunning) return end_generation(std::move(cause));
  // The ranks of other hosts may have noticed first that this one's do not answer.
  const bool came_first = cause_->kind == Cause::Kind::kRank && cause_->agent != agent && cause_->exit_code < 128 &&
                          last_heard <= cause_->when + kLateCause;
  if (came_first)
    correct_cause(std::move(cause));
  else
    tell_all(NoticeMessage{cause.text});
  conclude_if_ended();
}

void AgentRoster::end_generation(Cause cause) {
  phase_ = Phase::kEnding;
  const bool is_orderly = cause.kind != Cause::Kind::kRank && cause.kind != Cause::Kind::kHost;
  cause_ = std::move(cause);
  for (const Member& each : members_) {
    if (each.agent == cause_->agent || each.has_ended) continue;
    actions_.send(each.agent, EndMessage{generation_, is_orderly, cause_->text});
  }
  conclude_if_ended();
}

void AgentRoster::correct_cause(Cause cause) {
  cause_ = std::move(cause);
  tell_all(NoticeMessage{concat(cause_->text, ", and that came first")});
}

void AgentRoster::conclude_if_ended() {
  const bool have_ended = std::ranges::all_of(members_, &Member::has_ended);
  const bool is_on = phase_ == Phase::kRunning || phase_ == Phase::kEnding;
  if (is_on && have_ended) conclude();
}

void AgentRoster::conclude() {
  if (!cause_) return give_verdict({});
  // Without the hub there is no next generation.
  if (own_signal_ && cause_->kind != Cause::Kind::kRank) {
    cause_->exit_code = 128 + *own_signal_;
    return conclude_preemption();
  }
  switch (cause_->kind) {
    case Cause::Kind::kMembership:
      return gather();
    case Cause::Kind::kHost:
      if (is_elastic()) return gather();
      return restart_or_give_up();
    case Cause::Kind::kSignal:
      // A host of an elastic job is taken away; the others go on. Ctrl-C means the job.
      if (is_elastic() && asks_to_make_room(cause_->exit_code - 128)) return gather();
      return conclude_preemption();
    case Cause::Kind::kPreempted:
      if (is_elastic() && std::ranges::any_of(agents_, [](const auto& each) { return each.second.has_left; }))
        return gather();  // the ranks of the host that leaves had told the others before it did
      return have_all_saved() ? conclude_preemption() : restart_or_give_up();
    case Cause::Kind::kRank:
      return restart_or_give_up();
  }
}

bool AgentRoster::have_all_saved() const {
  return std::ranges::all_of(members_, [](const Member& each) { return each.exit_code == kRequeueExitCode; });
}

// All ranks of all hosts stopped in good order, and saved: the job is to be started again. But not where somebody does
// not want it any more.
void AgentRoster::conclude_preemption() {
  const int signal = cause_->exit_code - 128;
  const bool is_requeued = have_all_saved() && (signal < 0 || asks_to_make_room(signal));
  const std::string hint =
      concat("; all ranks have saved; exit code ", kRequeueExitCode, ": start the job again to go on");
  give_verdict({is_requeued ? kRequeueExitCode : cause_->exit_code, cause_->text + (is_requeued ? hint : ""), {}});
}

void AgentRoster::restart_or_give_up() {
  if (restart_count_ >= options_.own.max_restarts || own_signal_) {
    const std::string restarts =
        restart_count_ == 0 ? "" : concat(", after ", restart_count_, restart_count_ == 1 ? " restart" : " restarts");
    return give_verdict({cause_->exit_code, concat("first failure", restarts, ": ", cause_->text), cause_->last_lines});
  }
  auto pause = options_.backoff;
  for (int i = 0; i < restart_count_ && pause < options_.longest_backoff; ++i) pause *= 2;
  pause = std::min(pause, options_.longest_backoff);
  ++restart_count_;
  tell_all(NoticeMessage{concat("restart ", restart_count_, " of ", options_.own.max_restarts, " in ",
                                format_seconds(pause), ", because ", cause_->text)});
  phase_ = Phase::kPausing;
  deadline_ = Deadline::after(pause);
}

void AgentRoster::give_verdict(const VerdictMessage& verdict) {
  phase_ = Phase::kOver;
  tell_all(verdict);
}

}  // namespace lockstep::launch
