#pragma once
/// @file
/// One host of a launcher's list: its process, how far its agent has come, and what became of it.
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "launch/hosts/host_order.hpp"
#include "launch/hosts/host_process.hpp"
#include "launch/hosts/hostfile.hpp"

namespace lockstep::launch {

/// How an agent is started, and on which host.
struct HostStart {
  HostEntry entry;                   ///< As the list has it.
  std::vector<std::string> command;  ///< ssh, or the agent itself.
  bool is_local = false;             ///< The latter.
};

/// One host. Thread safety: one thread.
class HostMember {
 public:
  /// Gets lines of the ranks and of the agent, with their end.
  using Output = HostProcess::Sink;

  /// @param mark  That of all orders (HostOrder::mark). @param output  Outlives this object's calls.
  HostMember(HostStart start, std::string mark, Output output);

  /// Starts the process, once more where it has ended. @param limit  For its agent to answer.
  /// @throws IoError  ssh cannot be started.
  void start(const InheritedSignals& signals, std::chrono::milliseconds limit);
  /// Adds what poll() should watch.
  void watch(std::vector<pollfd>& watched, bool takes_output) const;
  /// Passes on output, takes reports, and notices ends and limits that have passed.
  void advance(bool takes_output);
  /// Sends the order; the agent must have greeted.
  void send_order(const HostOrder& order);
  /// Sends a line, if an order has been sent.
  void tell(std::string_view line);
  /// Ends the agent and its ranks, as the launcher's own end does. Nothing more of it is a failure.
  void end();
  /// Kills the process. On another host the agent then ends its ranks by itself.
  void kill() noexcept;

  /// The host, as the list has it.
  [[nodiscard]] const HostEntry& entry() const noexcept { return start_.entry; }
  /// The process runs, or its end has not been noticed yet.
  [[nodiscard]] bool is_running() const noexcept { return process_ != nullptr; }
  /// Its agent has greeted, and has no order yet.
  [[nodiscard]] bool is_waiting_for_order() const noexcept { return is_running() && step_ == Step::kGreeted; }
  /// Its agent has begun, now or in an earlier attempt.
  [[nodiscard]] bool has_ever_started() const noexcept { return has_ever_started_; }
  /// Its agent has begun, and runs.
  [[nodiscard]] bool has_started() const noexcept { return is_running() && step_ == Step::kStarted; }
  /// For how long its agent has run now. @pre  has_started()
  [[nodiscard]] std::chrono::nanoseconds started_for() const noexcept { return started_.waited(); }
  /// Of the meeting, where this host's agent serves it.
  [[nodiscard]] int port() const noexcept { return port_; }
  /// The job's code, as the agent has heard it.
  [[nodiscard]] std::optional<int> exit_code() const noexcept { return exit_code_; }
  /// Why the process has ended without exit_code(): "cannot be reached: ..."; once.
  [[nodiscard]] std::optional<std::string> take_problem();
  /// When advance() is due though nothing has come.
  [[nodiscard]] Deadline limit() const noexcept { return limit_; }

 private:
  enum class Step { kStarting, kGreeted, kOrdered, kStarted };

  void take_line(OutputStream stream, std::string_view line);
  void take_report(const HostReport& report);
  void conclude(int status);
  [[nodiscard]] std::string problem_of(int status) const;

  HostStart start_;
  std::string mark_;
  Output output_;
  std::unique_ptr<HostProcess> process_;
  Step step_ = Step::kStarting;
  Deadline limit_ = Deadline::never();    // for the agent to begin
  Deadline started_ = Deadline::never();  // made when it has
  bool is_late_ = false, has_ever_started_ = false;
  std::string last_line_;  // on standard error, before the agent has started
  int port_ = 0;
  std::optional<int> exit_code_;
  std::optional<std::string> failure_, problem_;
};

}  // namespace lockstep::launch
