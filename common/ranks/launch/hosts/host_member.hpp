#pragma once
/// @file
/// One host of a launcher's list: its process, and what became of it.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "launch/hosts/agent_progress.hpp"
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

/// The process of a host's agent. Thread safety: one thread.
class HostMember {
 public:
  /// @param mark  That of all orders (HostOrder::mark). @param output  Outlives this object's calls.
  HostMember(HostStart start, std::string mark, AgentProgress::Output output);

  /// Starts the process, once more where it has ended. @param limit  For its agent to begin.
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
  /// How far its agent has come.
  [[nodiscard]] const AgentProgress& agent() const noexcept { return agent_; }
  /// The process runs, or its end has not been noticed yet.
  [[nodiscard]] bool is_running() const noexcept { return process_ != nullptr; }
  /// Its agent has greeted, and has no order yet.
  [[nodiscard]] bool is_waiting_for_order() const noexcept { return is_at(AgentProgress::Step::kGreeted); }
  /// Its agent has begun, and runs.
  [[nodiscard]] bool has_started() const noexcept { return is_at(AgentProgress::Step::kStarted); }
  /// Its agent has begun, and has run for longer than this.
  [[nodiscard]] bool has_run_for(std::chrono::nanoseconds time) const noexcept {
    return has_started() && agent_.started_for() >= time;
  }
  /// Why the process has ended without the agent's exit code: "cannot be reached: ..."; once.
  [[nodiscard]] std::optional<std::string> take_problem();
  /// When to call advance() even if nothing has come.
  [[nodiscard]] Deadline limit() const noexcept { return limit_; }

 private:
  [[nodiscard]] bool is_at(AgentProgress::Step step) const noexcept { return is_running() && agent_.step() == step; }
  [[nodiscard]] std::string problem_of(int status) const;

  HostStart start_;
  AgentProgress agent_;
  std::unique_ptr<HostProcess> process_;
  Deadline limit_ = Deadline::never();  // for the agent to begin
  bool is_late_ = false;
  std::optional<std::string> problem_;
};

}  // namespace lockstep::launch
