#pragma once
/// @file
/// Signals as something to read, by the rules that shells and nohup rely on.
#include <signal.h>

#include <initializer_list>

#include "base/process.hpp"
#include "base/unique_fd.hpp"

namespace lockstep::launch {

/// While it lives, the chosen signals arrive through a descriptor instead of ending the process. A signal that was
/// ignored before stays ignored (nohup ignores SIGHUP so; a shell does it to the SIGINT of its background jobs): such a
/// signal must not even be blocked, because a descriptor delivers a blocked signal whether it is ignored or not.
///
/// Thread safety: one thread; threads started while it lives inherit the blocked signals. A child of fork() may read
/// the same object and gets its own signals.
class SignalQueue {
 public:
  /// @param signals  SIGCHLD is delivered in any case: nobody means to ignore it.
  /// @throws IoError  No descriptor is to be had.
  explicit SignalQueue(std::initializer_list<int> signals);
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;
  /// Puts the mask back.
  ~SignalQueue();

  /// Readable when take() has something.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  /// The signal mask before.
  [[nodiscard]] const sigset_t& original_mask() const noexcept { return original_mask_; }

  /// The next signal, or 0. Never blocks.
  [[nodiscard]] int take() const noexcept;

 private:
  sigset_t original_mask_{};
  UniqueFd fd_;
};

/// What this process blocks and ignores itself, but SIGCHLD, which a parent of processes needs, and SIGTERM, which
/// ends ranks.
[[nodiscard]] InheritedSignals inheritable_signals() noexcept;

}  // namespace lockstep::launch
