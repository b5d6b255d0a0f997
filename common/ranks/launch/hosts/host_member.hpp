#pragma once
/// @file
/// One host of a launcher's list: its process and its fate.
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

/// The command that starts an agent, and its host.
struct HostStart {
  HostEntry entry;                   ///< From the list.
  std::vector<std::string> command;  ///< ssh, or the agent itself.
  bool is_local = false;             ///< `command` is the agent itself.
};

/// The process of a host's agent. Thread safety: one thread.
class HostMember {
 public:
  /// @param mark  The same for all orders (HostOrder::mark). @param output  Must outlive this object's calls.
  HostMember(HostStart start, std::string mark, AgentProgress::Output output);

  /// Starts the process, or restarts it after its end. @param limit  For its agent to begin.
  /// @throws IoError  ssh cannot be started.
  void start(const InheritedSignals& signals, std::chrono::milliseconds limit);
  /// Adds the descriptors that poll() should watch.
  void watch(std::vector<pollfd>& watched, bool takes_output) const;
  /// Forwards output, reads reports, and notices the process's end and expired limits.
  void advance(bool takes_output);
  /// Sends the order; the agent must have greeted.
  void send_order(const HostOrder& order);
  /// Sends a line, if an order has been sent.
  void tell(std::string_view line);
  /// Ends the agent and its ranks, as the end of the launcher would. Later errors of it do not count as failures.
  void end();
  /// Kills the process. On a remote host, the agent then ends its ranks itself.
  void kill() noexcept;

  [[nodiscard]] const HostEntry& entry() const noexcept { return start_.entry; }
  [[nodiscard]] const AgentProgress& agent() const noexcept { return agent_; }
  /// Whether the process runs, or its end has not been noticed yet.
  [[nodiscard]] bool is_running() const noexcept { return process_ != nullptr; }
  /// Whether its agent has greeted and has no order yet.
  [[nodiscard]] bool is_waiting_for_order() const noexcept { return is_at(AgentProgress::Step::kGreeted); }
  /// Whether its agent has begun and still runs.
  [[nodiscard]] bool has_started() const noexcept { return is_at(AgentProgress::Step::kStarted); }
  /// Whether its agent has run for longer than `time`.
  [[nodiscard]] bool has_run_for(std::chrono::nanoseconds time) const noexcept {
    return has_started() && agent_.started_for() >= time;
  }
  /// Why the process has ended without the agent's exit code: "cannot be reached: ..."; once.
  [[nodiscard]] std::optional<std::string> take_problem();
  /// When to call advance() even without input.
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
