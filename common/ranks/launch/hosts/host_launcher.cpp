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
#include "launch/hosts/host_lines.hpp"
#include "launch/local/output_queue.hpp"
#include "launch/local/signal_scope.hpp"
#include "launch/local/wait_status.hpp"

namespace lockstep::launch {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kLongestBackoff = 30s;
// For the other agents to hear how the job ended, and to go.
constexpr auto kFarewellLimit = 10s;
// From the start of an agent until it has surely joined the others, where nothing is wrong.
constexpr auto kJoinTime = 1s;
// Beyond the ranks' grace: settling before it, SIGKILL after it, and the way there.
constexpr auto kEndLimit = 15s;
// From one Ctrl-C that could do no more than those before it to the next.
constexpr auto kPatience = 1s;
// For the reader of a failed job's output.
constexpr auto kStuckOutputLimit = 5s;

/// One run of run_on_hosts().
class HostLauncher {
 public:
  explicit HostLauncher(const HostJob& job) : job_(job), lines_(job.name), port_(job.port) {
    for (std::size_t host = 0; host < job.hosts.size(); ++host) {
      members_.push_back({std::make_unique<HostMember>(
          job.hosts[host], job.mark,
          [this, host](OutputStream stream, std::string_view line) { show(host, stream, line); })});
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
      queue_.flush();
      while (const auto problem = queue_.take_problem()) say(*problem);
      if (queue_.is_lost(OutputStream::kOut) && !is_ending_) end_all(128 + SIGPIPE);
      if (end_limit_.has_expired()) give_up_waiting();
    }
    drain();
    return exit_code();
  }

 private:
  struct Member {
    std::unique_ptr<HostMember> host;
    Deadline next_attempt = Deadline::never();  // while it is to be tried again
    Deadline last_attempt = Deadline::never();  // after which it is not
    std::chrono::milliseconds backoff{0};
    std::string last_problem{};
    bool is_given_up = false;
  };

  [[nodiscard]] bool takes(OutputStream stream) const { return !queue_.is_full(stream); }
  [[nodiscard]] bool takes_output() const { return takes(OutputStream::kOut) && takes(OutputStream::kErr); }

  [[nodiscard]] bool is_over() const {
    return std::ranges::all_of(
        members_, [](const Member& each) { return !each.host->is_running() && each.next_attempt.is_never(); });
  }

  void wait() {
    std::vector<pollfd> watched{{signals_.fd(), POLLIN, 0}};
    Deadline next = end_limit_.earliest(next_sign_of_life_);
    for (const Member& each : members_) {
      each.host->watch(watched, takes_output());
      next = next.earliest(each.next_attempt).earliest(each.host->limit());
    }
    for (const OutputStream stream : {OutputStream::kOut, OutputStream::kErr})
      watched.push_back({queue_.waiting_fd(stream), POLLOUT, 0});
    ::poll(watched.data(), watched.size(), next.poll_timeout_ms());
  }

  void advance(std::size_t index) {
    Member& member = members_[index];
    member.host->advance(takes_output());
    if (auto problem = member.host->take_problem()) take_problem(index, std::move(*problem));
    if (!member.next_attempt.has_expired()) return;
    member.next_attempt = Deadline::never();
    member.host->start(signals_.inherited(), job_.join);
  }

  // The first host's agent opens the meeting; the others are told where.
  void give_orders() {
    if (port_ == 0) port_ = members_.front().host->port();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const bool may_begin = i == 0 || port_ != 0 || !job_.has_meeting;
      if (i >= job_.most_hosts && !are_spares_welcome()) continue;
      if (may_begin && !is_ending_ && members_[i].host->is_waiting_for_order())
        members_[i].host->send_order(job_.order(i, port_));
    }
  }

  // Else a spare might join before a host that stands above it in the list.
  [[nodiscard]] bool are_spares_welcome() const {
    return std::all_of(members_.begin(), members_.begin() + static_cast<std::ptrdiff_t>(job_.most_hosts),
                       [](const Member& each) {
                         const bool has_joined = each.host->has_started() && each.host->started_for() > kJoinTime;
                         return has_joined || !each.last_problem.empty();
                       });
  }

  void send_signs_of_life() {
    if (!next_sign_of_life_.has_expired()) return;
    next_sign_of_life_ = Deadline::after(heartbeat_interval(job_.liveness));
    for (const Member& each : members_) each.host->tell(kLauncherLives);
  }

  // The end of a process whose agent has not said how the job ended.
  void take_problem(std::size_t index, std::string problem) {
    Member& member = members_[index];
    if (is_ending_ || is_done_) return;
    const std::string text =
        concat("host ", member.host->entry().host, " (", job_.list, ":", member.host->entry().line, ") ", problem);
    const bool is_new = std::exchange(member.last_problem, problem) != problem;
    if (can_do_without(index) || (member.host->has_ever_started() && job_.may_come_back)) {
      if (is_new) say(concat(text, "; it is tried again"));
      return try_again(member, can_do_without(index));
    }
    member.is_given_up = true;
    say(text);
    // Where its ranks have run, the others' agents know what to do about a host that is lost.
    if (!member.host->has_ever_started()) is_muted_ = true;
    if (!member.host->has_ever_started()) end_all(1);
  }

  // Whether the job goes on without a host, even if it never comes.
  [[nodiscard]] bool can_do_without(std::size_t index) const {
    if (index == 0 || !job_.may_come_back) return false;
    const auto is_there = [](const Member& each) { return each.last_problem.empty(); };
    const auto others = std::ranges::count_if(members_, is_there) - (is_there(members_[index]) ? 1 : 0);  // but itself
    return static_cast<std::size_t>(others) >= job_.least_hosts;
  }

  void try_again(Member& member, bool is_dispensable) {
    const bool is_first = member.backoff == 0ms;
    if (is_first) member.last_attempt = Deadline::after(job_.join);
    if (!is_dispensable && !is_first && member.last_attempt.has_expired()) {
      member.is_given_up = true;
      return say(concat("host ", member.host->entry().host, " has not come back within ", format_seconds(job_.join)));
    }
    member.backoff = is_first ? job_.backoff : std::min(2 * member.backoff, kLongestBackoff);
    member.next_attempt = Deadline::after(member.backoff);
  }

  // Once the first host has heard how the job ended, so have the others.
  void note_end() {
    for (Member& each : members_) {
      if (!each.host->has_started() || each.host->started_for() < job_.liveness) continue;
      each.backoff = 0ms;  // it is back, and the others have let it in
      each.last_problem.clear();
    }
    if (is_done_ || !members_.front().host->exit_code()) return;
    is_done_ = true;
    for (Member& each : members_) each.next_attempt = Deadline::never();
    for (const Member& each : members_)
      if (!each.host->has_started()) each.host->end();
    end_limit_ = end_limit_.earliest(Deadline::after(kFarewellLimit));
  }

  void take_signal(int signal) {
    if (signal == SIGUSR1 && signal != job_.preempt_signal) return tell(kEverybody, signal);
    const bool is_repeated = std::exchange(signal_, signal) != 0;
    if (is_repeated && signal == SIGINT && last_interrupt_.waited() > kPatience && interrupts_ > 1) return abandon();
    interrupts_ += signal == SIGINT ? 1 : 0;
    last_interrupt_ = Deadline::never();
    const bool is_for_first = signal != SIGINT && signal != SIGHUP && members_.front().host->has_started();
    if (!is_repeated) say(concat(signal_name(signal), ": ending the ranks of all hosts"));
    tell(is_for_first ? 0 : kEverybody, signal);
    stop_trying();
    if (end_limit_.is_never()) end_limit_ = Deadline::after(job_.grace + kEndLimit);
  }

  static constexpr std::size_t kEverybody = SIZE_MAX;

  void tell(std::size_t whom, int signal) {
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (whom == kEverybody || whom == i) members_[i].host->tell(concat(kLauncherSignal, signal));
  }

  // Hosts that are on their way need not come any more.
  void stop_trying() {
    is_ending_ = true;
    for (Member& each : members_) {
      each.next_attempt = Deadline::never();
      if (!each.host->has_started()) each.host->end();
    }
  }

  void end_all(int exit_code) {
    fallback_code_ = exit_code;
    stop_trying();
    for (const Member& each : members_) each.host->end();
    end_limit_ = Deadline::after(job_.grace + kEndLimit);
  }

  // An agent that should have ended long ago has not.
  void give_up_waiting() {
    const bool is_second = std::exchange(is_forcing_, true);
    end_limit_ = Deadline::after(is_second ? kEndLimit : job_.grace + kEndLimit);
    stop_trying();
    for (const Member& each : members_) {
      if (!each.host->is_running()) continue;
      if (is_second) say(concat("host ", each.host->entry().host, " does not end; see what is left there"));
      if (is_second)
        each.host->kill();
      else
        each.host->end();
    }
  }

  void abandon() {
    say("the hosts are left to end by themselves");
    for (const Member& each : members_) each.host->kill();
  }

  void show(std::size_t host, OutputStream stream, std::string_view line) {
    if (is_muted_) return;
    if (stream == OutputStream::kOut || lines_.is_news(host, job_.hosts[host].entry.host, line))
      queue_.add(stream, line);
  }

  void say(const std::string& text) { queue_.add(OutputStream::kErr, concat(job_.name, ": ", text, "\n")); }

  void drain() {
    const Deadline deadline = Deadline::after(kStuckOutputLimit);
    const bool may_take_long = exit_code() == 0;
    for (queue_.flush(); !queue_.is_empty() && (may_take_long || !deadline.has_expired()); queue_.flush()) {
      std::vector<pollfd> watched{{signals_.fd(), POLLIN, 0}};
      for (const OutputStream stream : {OutputStream::kOut, OutputStream::kErr})
        watched.push_back({queue_.waiting_fd(stream), POLLOUT, 0});
      ::poll(watched.data(), watched.size(), may_take_long ? -1 : deadline.poll_timeout_ms());
      if (watched.front().revents != 0 && signals_.take() != SIGUSR1) return;
    }
    while (const auto problem = queue_.take_problem()) say(*problem);
    queue_.flush();
  }

  [[nodiscard]] int exit_code() const {
    if (fallback_code_) return *fallback_code_;
    if (const auto code = members_.front().host->exit_code()) return *code;
    return signal_ != 0 ? 128 + signal_ : 1;
  }

  const HostJob& job_;
  SignalScope signals_{job_.preempt_signal};
  OutputQueue queue_{STDOUT_FILENO, STDERR_FILENO};
  HostLines lines_;
  std::vector<Member> members_;
  int port_;
  Deadline next_sign_of_life_ = Deadline::after({});
  Deadline end_limit_ = Deadline::never();  // for what still runs
  Deadline last_interrupt_ = Deadline::never();
  int signal_ = 0;  // the last one to this process
  int interrupts_ = 0;
  bool is_ending_ = false;   // hosts that are lost are no news any more
  bool is_done_ = false;     // the first host's agent has said how the job ended
  bool is_forcing_ = false;  // the agents' time is over
  bool is_muted_ = false;    // one message has said all
  std::optional<int> fallback_code_;
};

}  // namespace

int run_on_hosts(const HostJob& job) {
  require(!job.hosts.empty(), "run_on_hosts: no hosts");
  return HostLauncher(job).run();
}

}  // namespace lockstep::launch
