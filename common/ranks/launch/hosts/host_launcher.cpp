#include "launch/hosts/host_launcher.hpp"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "launch/hosts/agent_link.hpp"
#include "launch/hosts/host_retry.hpp"
#include "launch/hosts/hosts_output.hpp"
#include "launch/local/signal_scope.hpp"
#include "launch/local/wait_status.hpp"

namespace lockstep::launch {
namespace {

using namespace std::chrono_literals;

// For the other agents to learn how the job ended, and to exit.
constexpr auto kFarewellLimit = 10s;
// From the start of an agent until it has certainly joined the others, if nothing is wrong.
constexpr auto kJoinTime = 1s;
// On top of the ranks' grace: for settling before it, SIGKILL after it, and communication.
constexpr auto kEndLimit = 15s;
// Minimum time between two Ctrl-C for the second one to have a further effect.
constexpr auto kPatience = 1s;
// For the reader of a failed job's output.
constexpr auto kStuckOutputLimit = 5s;

/// One run of run_on_hosts(): starts agents, sends their orders, and decides which hosts the job needs.
class HostLauncher {
 public:
  explicit HostLauncher(const HostJob& job) : job_(job), output_(job.name), port_(job.port) {
    for (std::size_t host = 0; host < job.hosts.size(); ++host) {
      members_.push_back({std::make_unique<HostMember>(job.hosts[host], job.mark,
                                                       [this, host](OutputStream stream, std::string_view line) {
                                                         output_.show(host, job_.hosts[host].entry.host, stream, line);
                                                       }),
                          HostRetry(job.backoff, job.join)});
    }
    for (Member& each : members_) each.host->start(signals_.inherited(), job_.join);
  }

  int run() {
    while (!is_over()) {
      wait();
      while (const int signal = signals_.take()) take_signal(signal);
      for (std::size_t i = 0; i < members_.size(); ++i) advance(i);
      give_orders();
      send_signs_of_life();
      note_end();
      output_.flush();
      if (output_.is_lost() && !is_ending_) end_all(128 + SIGPIPE);
      if (end_limit_.has_expired()) give_up_waiting();
    }
    output_.drain(exit_code() == 0 ? Deadline::never() : Deadline::after(kStuckOutputLimit), signals_);
    return exit_code();
  }

 private:
  struct Member {
    std::unique_ptr<HostMember> host;
    HostRetry retry;
  };

  [[nodiscard]] bool is_over() const {
    return std::ranges::all_of(
        members_, [](const Member& each) { return !each.host->is_running() && each.retry.next_attempt().is_never(); });
  }

  void wait() {
    std::vector<pollfd> watched{{signals_.fd(), POLLIN, 0}};
    Deadline next = end_limit_.earliest(next_sign_of_life_);
    for (const Member& each : members_) {
      each.host->watch(watched, output_.has_room());
      next = next.earliest(each.retry.next_attempt()).earliest(each.host->limit());
    }
    output_.watch(watched);
    ::poll(watched.data(), watched.size(), next.poll_timeout_ms());
  }

  void advance(std::size_t index) {
    Member& member = members_[index];
    member.host->advance(output_.has_room());
    if (const auto problem = member.host->take_problem()) take_problem(index, *problem);
    if (!member.retry.next_attempt().has_expired()) return;
    member.retry.cancel();
    try {
      member.host->start(signals_.inherited(), job_.join);
    } catch (const IoError& error) {  // this host lacks processes or descriptors just now, say
      take_problem(index, error.what());
    }
  }

  // The first host's agent opens the meeting; the others are told its address.
  void give_orders() {
    if (port_ == 0) port_ = members_.front().host->agent().port();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const bool may_begin = i == 0 || port_ != 0 || !job_.has_meeting;
      if (i >= job_.most_hosts && !are_spares_welcome()) continue;
      if (may_begin && !is_ending_ && members_[i].host->is_waiting_for_order())
        members_[i].host->send_order(job_.order(i, port_));
    }
  }

  // Otherwise a spare might join before a host that precedes it in the list.
  [[nodiscard]] bool are_spares_welcome() const {
    return std::all_of(
        members_.begin(), members_.begin() + static_cast<std::ptrdiff_t>(job_.most_hosts),
        [](const Member& each) { return each.host->has_run_for(kJoinTime) || each.retry.has_problem(); });
  }

  void send_signs_of_life() {
    if (!next_sign_of_life_.has_expired()) return;
    next_sign_of_life_ = Deadline::after(heartbeat_interval(job_.liveness));
    for (const Member& each : members_) each.host->tell(kLauncherLives);
  }

  // The end of a process whose agent has not reported how the job ended, or one that could not be started again.
  void take_problem(std::size_t index, const std::string& problem) {
    if (is_ending_ || is_done_) return;
    Member& member = members_[index];
    const HostEntry& entry = member.host->entry();
    const std::string text = concat("host ", entry.host, " (", job_.list, ":", entry.line, ") ", problem);
    const bool is_new = member.retry.note_problem(problem);
    const bool has_run = member.host->agent().has_ever_started();
    if (can_do_without(index) || (has_run && job_.may_come_back)) {
      if (is_new) output_.say(concat(text, "; it is tried again"));
      if (can_do_without(index) || !member.retry.is_exhausted()) return member.retry.schedule();
      return output_.say(concat("host ", entry.host, " has not come back within ", format_seconds(job_.join)));
    }
    output_.say(text);
    // If its ranks have run, the other agents handle the loss of the host.
    if (has_run) return;
    output_.mute();
    end_all(1);
  }

  // Whether the job goes on without a host, even if it never comes.
  [[nodiscard]] bool can_do_without(std::size_t index) const {
    if (index == 0 || !job_.may_come_back) return false;
    std::size_t others = 0;
    for (std::size_t i = 0; i < members_.size(); ++i) others += i != index && !members_[i].retry.has_problem() ? 1 : 0;
    return others >= job_.least_hosts;
  }

  // When the first host knows how the job ended, the others do too.
  void note_end() {
    for (Member& each : members_)
      if (each.host->has_run_for(job_.liveness)) each.retry.note_success();
    if (is_done_ || !members_.front().host->agent().exit_code()) return;
    is_done_ = true;
    stop_trying();
    end_limit_ = end_limit_.earliest(Deadline::after(kFarewellLimit));
  }

  void take_signal(int signal) {
    if (signal == SIGUSR1 && signal != job_.preempt_signal) return tell(kEverybody, signal);
    const bool is_repeated = std::exchange(signal_, signal) != 0;
    if (is_repeated && signal == SIGINT && last_interrupt_.waited() > kPatience && interrupts_ > 1) return abandon();
    interrupts_ += signal == SIGINT ? 1 : 0;
    last_interrupt_ = Deadline::never();
    const bool is_for_first = signal != SIGINT && signal != SIGHUP && members_.front().host->has_started();
    if (!is_repeated) output_.say(concat(signal_name(signal), ": ending the ranks of all hosts"));
    tell(is_for_first ? 0 : kEverybody, signal);
    is_ending_ = true;
    stop_trying();
    if (end_limit_.is_never()) end_limit_ = Deadline::after(job_.grace + kEndLimit);
  }

  static constexpr std::size_t kEverybody = SIZE_MAX;

  void tell(std::size_t whom, int signal) {
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (whom == kEverybody || whom == i) members_[i].host->tell(concat(kLauncherSignal, signal));
  }

  // Hosts that are still connecting are not needed any more.
  void stop_trying() {
    for (Member& each : members_) {
      each.retry.cancel();
      if (!each.host->has_started()) each.host->end();
    }
  }

  void end_all(int exit_code) {
    fallback_code_ = exit_code;
    is_ending_ = true;
    stop_trying();
    for (const Member& each : members_) each.host->end();
    end_limit_ = Deadline::after(job_.grace + kEndLimit);
  }

  // An agent that should have ended long ago has not.
  void give_up_waiting() {
    const bool is_second = std::exchange(is_forcing_, true);
    end_limit_ = Deadline::after(is_second ? kEndLimit : job_.grace + kEndLimit);
    is_ending_ = true;
    stop_trying();
    for (const Member& each : members_) {
      if (!each.host->is_running()) continue;
      if (!is_second) {
        each.host->end();
        continue;
      }
      output_.say(concat("host ", each.host->entry().host, " has not ended; look for processes left on it"));
      each.host->kill();
    }
  }

  void abandon() {
    output_.say("the hosts are left to end by themselves");
    for (const Member& each : members_) each.host->kill();
  }

  [[nodiscard]] int exit_code() const {
    if (fallback_code_) return *fallback_code_;
    if (const auto code = members_.front().host->agent().exit_code()) return *code;
    return signal_ != 0 ? 128 + signal_ : 1;
  }

  const HostJob& job_;
  SignalScope signals_{job_.preempt_signal};
  HostsOutput output_;
  std::vector<Member> members_;
  int port_;
  Deadline next_sign_of_life_ = Deadline::after({});
  Deadline end_limit_ = Deadline::never();  // for processes that still run
  Deadline last_interrupt_ = Deadline::never();
  int signal_ = 0;  // the last one to this process
  int interrupts_ = 0;
  bool is_ending_ = false;   // lost hosts are not reported any more
  bool is_done_ = false;     // the first host's agent has reported how the job ended
  bool is_forcing_ = false;  // the agents' time is over
  std::optional<int> fallback_code_;
};

}  // namespace

int run_on_hosts(const HostJob& job) {
  require(!job.hosts.empty(), "run_on_hosts: no hosts");
  return HostLauncher(job).run();
}

}  // namespace lockstep::launch
