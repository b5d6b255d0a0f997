#pragma once
/// @file
/// Ends a host's ranks. Internal to this module.
#include <chrono>

#include "base/deadline.hpp"
#include "launch/local/reaper_process.hpp"

namespace lockstep::launch {

/// Ends ranks step by step. Each step has a time limit, after which the next one follows. Thread safety: one thread.
class Shutdown {
 public:
  /// Time limit for processes to end after SIGKILL.
  static constexpr std::chrono::seconds kKillLimit{5};

  /// @param reaper  Must outlive this object. @param settle  From settle() to SIGTERM.
  /// @param grace  From SIGTERM to SIGKILL.
  Shutdown(ReaperProcess& reaper, std::chrono::milliseconds settle, std::chrono::milliseconds grace)
      : reaper_(reaper), settle_(settle), grace_(grace) {}

  /// Gives ranks time to notice the failure themselves and report it.
  void settle() { enter(Step::kSettling, settle_); }
  /// SIGTERM to all ranks.
  void terminate();
  /// SIGKILL to all processes. The reaper keeps repeating it.
  void kill();
  /// Stops waiting for remaining processes.
  void abandon();
  /// Goes on from settle() to SIGTERM, and from there to SIGKILL.
  void advance() { is_settling() ? terminate() : kill(); }

  [[nodiscard]] bool is_running() const noexcept { return step_ == Step::kRunning; }
  [[nodiscard]] bool is_settling() const noexcept { return step_ == Step::kSettling; }
  [[nodiscard]] bool is_killing() const noexcept { return step_ == Step::kKilling; }
  [[nodiscard]] bool is_abandoned() const noexcept { return is_abandoned_; }
  /// Of the current step.
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
