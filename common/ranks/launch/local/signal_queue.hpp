#pragma once
/// @file
/// Signals read from a descriptor, by the rules that shells and nohup rely on.
#include <signal.h>

#include <initializer_list>

#include "base/process.hpp"
#include "base/unique_fd.hpp"

namespace lockstep::launch {

/// While it lives, the chosen signals arrive through a descriptor instead of ending the process. A signal that was
/// ignored before stays ignored (nohup ignores SIGHUP; a shell ignores SIGINT for its background jobs). It must not
/// even be blocked, because a descriptor delivers a blocked signal even if it is ignored.
///
/// Thread safety: one thread; threads started while it lives inherit the blocked signals. A child of fork() may read
/// the same object and gets its own signals.
class SignalQueue {
 public:
  /// @param signals  SIGCHLD is delivered even if it was ignored, which is never intended.
  /// @throws IoError  No descriptor is available.
  explicit SignalQueue(std::initializer_list<int> signals);
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;
  /// Restores the signal mask.
  ~SignalQueue();

  /// Readable when take() has a signal.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  /// The previous signal mask.
  [[nodiscard]] const sigset_t& original_mask() const noexcept { return original_mask_; }

  /// The next signal, or 0. Never blocks.
  [[nodiscard]] int take() const noexcept;

 private:
  sigset_t original_mask_{};
  UniqueFd fd_;
};

/// Signals that this process blocks or ignores, except SIGCHLD, which a parent process needs, and SIGTERM, which ends
/// ranks.
[[nodiscard]] InheritedSignals inheritable_signals() noexcept;

}  // namespace lockstep::launch
