#include "launch/hosts/roster/agent_roster.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.hpp"
#include "base/preemption.hpp"
#include "launch/local/wait_status.hpp"

namespace lockstep::launch {
namespace {

using Kind = EndCause::Kind;

Gathering gathering_of(const HubOptions& options, std::chrono::milliseconds last_call,
                       Deadline::Clock::time_point now) {
  return Gathering({options.own.min_nodes, options.own.max_nodes, options.join, last_call}, now);
}

RestartPolicy policy_of(const HubOptions& options, const JobTerms& terms) {
  return RestartPolicy({terms.is_elastic(), terms.max_restarts(), options.backoff, options.longest_backoff});
}

std::string spare_text(const Generation& generation) {
  return concat("the job runs on ", host_count_text(generation.host_count()), "; waiting as a spare");
}

}  // namespace

AgentRoster::AgentRoster(HubOptions options, std::string nonce, RosterActions actions)
    : options_(std::move(options)),
      nonce_(std::move(nonce)),
      actions_(std::move(actions)),
      hosts_(JobTerms(options_.own, options_.address.text())),
      policy_(policy_of(options_, hosts_.terms())),
      gathering_(gathering_of(options_, options_.last_call, actions_.now())) {}

void AgentRoster::take(int agent, const AgentMessage& message) {
  if (const auto* joining = std::get_if<JoinMessage>(&message)) return join(agent, *joining);
  if (std::holds_alternative<HeartbeatMessage>(message)) return;
  if (!hosts_.has(agent)) throw FormatError("a message of an agent that has not joined");
  if (const auto* failure = std::get_if<FailureMessage>(&message)) return take_failure(agent, *failure);
  if (const auto* leave = std::get_if<LeaveMessage>(&message)) return take_leave(agent, leave->signal);
  if (const auto* ended = std::get_if<EndedMessage>(&message)) return take_end(agent, *ended);
  throw FormatError("a message that only the hub sends");
}

AgentRoster::Time AgentRoster::next_deadline() const {
  if (phase_ == Phase::kPausing) return pause_end_;
  return phase_ == Phase::kGathering ? gathering_.next_deadline() : Time::max();
}

void AgentRoster::advance() {
  if (phase_ == Phase::kPausing && actions_.now() >= pause_end_) gather();
  if (phase_ != Phase::kGathering) return;
  start_if_complete();
  const Time now = actions_.now();
  if (phase_ != Phase::kGathering || !gathering_.has_failed(now)) return;
  give_verdict({1,
                concat("not all hosts joined within ", format_seconds(gathering_.waited(now)), "; ",
                       hosts_.describe_missing(), cause_ ? concat("; before that: ", cause_->get().text) : ""),
                {}});
}

void AgentRoster::excuse_pause() {
  if (phase_ == Phase::kGathering) gathering_.begin_again(actions_.now());
}

std::string AgentRoster::state() const {
  const Time now = actions_.now();
  std::string text = concat(static_cast<int>(phase_), " ", next_generation_, " ", policy_.restart_count(), " ",
                            hub_signal_.value_or(-1), " ", generation_.number());
  if (is_between_generations())
    text += concat(" ", (next_deadline() - now).count(), " ", gathering_.waited(now).count());
  for (const int agent : hosts_.agents()) {
    const PresentHost& host = hosts_.at(agent);
    text += concat("\nhost ", agent, " ", host.join.instance, " ", host.group_rank, " ", host.is_leaving);
  }
  for (const Generation::Member& each : generation_.members()) {
    text += concat("\nmember ", each.agent, " ", each.first_rank, " ", each.rank_count, " ", each.is_lost, " ",
                   each.exit_code.value_or(-1));
  }
  if (!cause_) return text;
  const EndCause& cause = cause_->get();
  return text + concat("\ncause ", static_cast<int>(cause.kind), " ", cause.agent, " ", cause.exit_code, " ",
                       cause.rank, " ", (now - cause.when).count());
}

void AgentRoster::join(int agent, const JoinMessage& message) {
  if (hosts_.has(agent)) throw FormatError("an agent that joins twice");
  if (const auto predecessor = hosts_.predecessor_of(message, actions_.is_alive)) {
    actions_.drop(*predecessor);
    lose(*predecessor, "it came back over a new connection", actions_.now());
  }
  const std::string objection = is_over() ? concat(hosts_.terms().job(), " has ended") : hosts_.objection_to(message);
  if (!objection.empty()) return actions_.send(agent, RefusalMessage{objection});
  hosts_.add(agent, message);
  next_generation_ = std::max(next_generation_, message.last_generation + 1);
  actions_.send(agent, WelcomeMessage{concat("host ", hosts_.terms().hub_host(), " (node rank 0)")});
  if (phase_ == Phase::kGathering) return start_if_complete();
  if (phase_ != Phase::kRunning) return;
  if (generation_.host_count() >= hosts_.terms().max_hosts() || generation_.is_ending())
    return actions_.send(agent, NoticeMessage{spare_text(generation_)});
  end_generation({.kind = Kind::kMembership,
                  .agent = agent,
                  .text = concat(hosts_.describe(agent), " has come: the job grows from ",
                                 host_count_text(generation_.host_count()))});
}

void AgentRoster::lose(int agent, const std::string& why, Time last_heard) {
  if (!hosts_.has(agent)) return;
  const bool was_leaving = hosts_.at(agent).is_leaving, was_running = generation_.runs_on(agent);
  EndCause cause{.kind = Kind::kHost,
                 .agent = agent,
                 .text = concat(hosts_.describe(agent), " is lost: ", why),
                 .when = actions_.now()};
  if (was_running) cause.text += concat(" (", ranks_text(*generation_.find(agent)), ")");
  hosts_.remove(agent);
  generation_.lose(agent);
  if (is_over()) return;
  if (!was_running) {
    if (!was_leaving) tell_all(NoticeMessage{cause.text});
    if (phase_ == Phase::kGathering) start_if_complete();
    return;
  }
  if (was_leaving) return conclude_if_ended();
  if (phase_ == Phase::kRunning) return end_generation(std::move(cause));
  tell_all(NoticeMessage{cause_->hear_loss(std::move(cause), last_heard)});
  conclude_if_ended();
}

void AgentRoster::take_failure(int agent, const FailureMessage& message) {
  if (message.generation != generation_.number() || generation_.find(agent) == nullptr) return;
  const std::optional<int> host = generation_.agent_of(message.rank);
  EndCause cause{
      .kind = Kind::kRank,
      .agent = agent,
      .exit_code = message.exit_code,
      .rank = message.rank,
      .text = concat("rank ", message.rank, " on ", hosts_.describe(host.value_or(agent)), " ", message.what),
      .last_lines = message.last_lines,
      .when = actions_.now()};
  if (phase_ == Phase::kRunning) return end_generation(std::move(cause));
  if (phase_ != Phase::kEnding) return;
  if (const auto notice = cause_->hear_failure(std::move(cause), host == agent)) tell_all(NoticeMessage{*notice});
}

void AgentRoster::take_leave(int agent, int signal) {
  if (signal == kLauncherLost) {
    actions_.drop(agent);
    return lose(agent, "the launcher that had started it there has gone", actions_.now());
  }
  hosts_.let_leave(agent);
  if (hosts_.terms().is_own(hosts_.at(agent).join)) hub_signal_ = signal;
  EndCause cause{.kind = Kind::kSignal,
                 .agent = agent,
                 .exit_code = 128 + signal,
                 .text = concat(hosts_.describe(agent), " was asked to end by ", signal_name(signal)),
                 .when = actions_.now()};
  if (phase_ == Phase::kRunning && generation_.find(agent) != nullptr) return end_generation(std::move(cause));
  if (phase_ == Phase::kEnding) return cause_->hear_signal(std::move(cause));
  if (!is_between_generations()) return;
  if (hub_signal_) return give_verdict({cause.exit_code, cause.text, {}});
  tell_all(NoticeMessage{cause.text}, agent);
}

void AgentRoster::take_end(int agent, const EndedMessage& message) {
  if (message.generation != generation_.number() || !generation_.runs_on(agent)) return;
  generation_.end(agent, message.exit_code);
  if (cause_) cause_->hear_end(agent, message.last_lines);
  if (phase_ != Phase::kRunning || message.exit_code == 0) return conclude_if_ended();
  const std::string ranks = concat("the ranks of ", hosts_.describe(agent));
  const bool has_saved = message.exit_code == kRequeueExitCode;
  end_generation({.kind = has_saved ? Kind::kPreempted : Kind::kRank,
                  .agent = agent,
                  .exit_code = message.exit_code,
                  .text = has_saved ? concat(ranks, " were asked to stop and have saved")
                                    : concat(ranks, " ended with code ", message.exit_code),
                  .last_lines = has_saved ? std::vector<std::string>{} : message.last_lines,
                  .when = actions_.now()});
}

// A generation, from the gathering of its hosts to the next step.

void AgentRoster::gather() {
  phase_ = Phase::kGathering;
  gathering_ = gathering_of(options_, options_.later_call, actions_.now());
  start_if_complete();
}

void AgentRoster::start_if_complete() {
  if (hosts_.has_own() && gathering_.is_complete(hosts_.count(), actions_.now())) start();
}

// Without a store, the hosts would wait for a generation that has no ranks.
void AgentRoster::start() {
  GenerationPorts ports;
  try {
    ports = actions_.open_store(next_generation_);
  } catch (const std::exception& error) {
    return give_verdict({1,
                         concat("generation ", next_generation_, " cannot begin, because its ranks have no store: ",
                                error.what(), cause_ ? concat("; before that: ", cause_->get().text) : ""),
                         {}});
  }
  phase_ = Phase::kRunning;
  cause_.reset();
  generation_ = Generation(next_generation_++);
  for (const int agent : hosts_.choose()) generation_.add(agent, hosts_.at(agent).join.local_world_size);
  for (const Generation::Member& each : generation_.members()) {
    actions_.send(each.agent, StartMessage{.generation = generation_.number(),
                                           .restart_count = policy_.restart_count(),
                                           .nonce = nonce_,
                                           .group_rank = hosts_.at(each.agent).group_rank,
                                           .group_world_size = generation_.host_count(),
                                           .first_rank = each.first_rank,
                                           .world_size = generation_.world_size(),
                                           .master_host = actions_.hub_host_seen_by(each.agent),
                                           .store_port = ports.store,
                                           .master_port = ports.master});
  }
  for (const int agent : hosts_.agents()) {
    if (generation_.find(agent) == nullptr) actions_.send(agent, NoticeMessage{spare_text(generation_)});
  }
}

void AgentRoster::end_generation(EndCause cause) {
  phase_ = Phase::kEnding;
  cause_.emplace(std::move(cause));
  for (const Generation::Member& each : generation_.members()) {
    if (each.agent == cause_->get().agent || each.exit_code) continue;
    actions_.send(each.agent, EndMessage{generation_.number(), cause_->get().is_orderly(), cause_->get().text});
  }
  conclude_if_ended();
}

void AgentRoster::conclude_if_ended() {
  const bool is_on = phase_ == Phase::kRunning || phase_ == Phase::kEnding;
  if (!is_on || !generation_.has_ended()) return;
  const NextStep next = policy_.decide({.cause = cause_ ? std::optional(cause_->get()) : std::nullopt,
                                        .have_all_saved = generation_.has_saved(),
                                        .is_any_leaving = hosts_.is_any_leaving(),
                                        .hub_signal = hub_signal_});
  if (const auto* verdict = std::get_if<VerdictMessage>(&next)) return give_verdict(*verdict);
  const auto* restart = std::get_if<Restart>(&next);
  if (restart == nullptr) return gather();
  tell_all(NoticeMessage{restart->notice});
  phase_ = Phase::kPausing;
  pause_end_ = actions_.now() + restart->pause;
}

void AgentRoster::give_verdict(const VerdictMessage& verdict) {
  phase_ = Phase::kOver;
  tell_all(verdict);
}

bool AgentRoster::is_between_generations() const noexcept {
  return phase_ == Phase::kGathering || phase_ == Phase::kPausing;
}

void AgentRoster::tell_all(const AgentMessage& message, int but) {
  for (const int agent : hosts_.agents()) {
    if (agent != but) actions_.send(agent, message);
  }
}

}  // namespace lockstep::launch
