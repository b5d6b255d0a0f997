#pragma once
/// @file
/// Tracks the progress of a host's agent from its output. Internal to this module.
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/deadline.hpp"
#include "launch/hosts/host_order.hpp"
#include "launch/local/output_merger.hpp"

namespace lockstep::launch {

/// Separates an agent's greeting and reports from the output of its ranks and its host's login shell, and tracks its
/// progress. No side effects. Thread safety: one thread.
class AgentProgress {
 public:
  /// Gets lines of the ranks and of the agent, with line ends.
  using Output = std::function<void(OutputStream, std::string_view line)>;
  enum class Step { kStarting, kGreeted, kOrdered, kStarted };

  /// @param mark  The same for all orders (HostOrder::mark).
  AgentProgress(std::string mark, Output output) : mark_(std::move(mark)), output_(std::move(output)) {}

  /// The agent is started or restarted.
  void begin();
  /// It has printed a line.
  void take_line(OutputStream stream, std::string_view line);
  /// The order has been sent.
  void note_order() noexcept { step_ = Step::kOrdered; }

  [[nodiscard]] Step step() const noexcept { return step_; }
  /// Whether it has begun, now or in an earlier attempt.
  [[nodiscard]] bool has_ever_started() const noexcept { return has_ever_started_; }
  /// How long it has run. @pre  step() == Step::kStarted
  [[nodiscard]] std::chrono::nanoseconds started_for() const noexcept { return started_.waited(); }
  /// Port of the meeting, if this agent serves it; else 0.
  [[nodiscard]] int port() const noexcept { return port_; }
  /// The job's exit code, as reported by the agent.
  [[nodiscard]] std::optional<int> exit_code() const noexcept { return exit_code_; }
  /// Why it cannot take part, as reported by the agent.
  [[nodiscard]] const std::optional<std::string>& failure() const noexcept { return failure_; }
  /// The last line on standard error before it began; empty if none.
  [[nodiscard]] const std::string& last_line() const noexcept { return last_line_; }

 private:
  void take_report(const HostReport& report);

  std::string mark_;
  Output output_;
  Step step_ = Step::kStarting;
  Deadline started_ = Deadline::never();  // set when it has started
  bool has_ever_started_ = false;
  std::string last_line_;
  int port_ = 0;
  std::optional<int> exit_code_;
  std::optional<std::string> failure_;
};

}  // namespace lockstep::launch
