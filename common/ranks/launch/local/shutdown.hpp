#pragma once
/// @file
/// How a host's ranks are ended. Internal to this module.
#include <chrono>

#include "base/deadline.hpp"
#include "launch/local/reaper_process.hpp"

namespace lockstep::launch {

/// Ends ranks step by step. Each step has a limit, after which the next one is due. Thread safety: one thread.
class Shutdown {
 public:
  /// For what SIGKILL has to end.
  static constexpr std::chrono::seconds kKillLimit{5};

  /// @param reaper  Outlives this object. @param settle  From settle() to SIGTERM.
  /// @param grace  From SIGTERM to SIGKILL.
  Shutdown(ReaperProcess& reaper, std::chrono::milliseconds settle, std::chrono::milliseconds grace)
      : reaper_(reaper), settle_(settle), grace_(grace) {}

  /// The ranks may notice by themselves, and say what they saw.
  void settle() { enter(Step::kSettling, settle_); }
  /// SIGTERM to all ranks.
  void terminate();
  /// SIGKILL to all processes. Nobody can do more, and the reaper goes on doing that.
  void kill();
  /// What is left is not waited for.
  void abandon();
  /// Goes on from settle() to SIGTERM, and from there to SIGKILL.
  void advance() { is_settling() ? terminate() : kill(); }

  [[nodiscard]] bool is_running() const noexcept { return step_ == Step::kRunning; }
  [[nodiscard]] bool is_settling() const noexcept { return step_ == Step::kSettling; }
  [[nodiscard]] bool is_killing() const noexcept { return step_ == Step::kKilling; }
  [[nodiscard]] bool is_abandoned() const noexcept { return is_abandoned_; }
  /// Of the step.
  [[nodiscard]] const Deadline& deadline() const noexcept { return deadline_; }

 private:
  enum class Step { kRunning, kSettling, kTerminating, kKilling };

  void enter(Step step, std::chrono::milliseconds limit);

  ReaperProcess& reaper_;
  std::chrono::milliseconds settle_, grace_;
  Step step_ = Step::kRunning;
  Deadline deadline_ = Deadline::never();
  bool is_abandoned_ = false;
};

}  // namespace lockstep::launch
