#pragma once
/// @file
/// The signals of a process that supervises others.
#include <signal.h>

#include "launch/local/signal_queue.hpp"

namespace lockstep::launch {

/// While it lives, SIGINT, SIGTERM, SIGHUP, SIGUSR1 and one more to this process arrive through a descriptor, as
/// SignalQueue says, and SIGPIPE and SIGXFSZ (a file as large as `ulimit -f` allows) are errors of write(). Thread
/// safety: one thread; threads started while it lives inherit the blocked signals.
class SignalScope {
 public:
  /// @param further  One more signal to take; 0: none.
  /// @throws IoError  No descriptor is available.
  explicit SignalScope(int further = 0) : queue_{SIGINT, SIGTERM, SIGHUP, SIGUSR1, further == 0 ? SIGUSR1 : further} {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &original_pipe_);
    sigaction(SIGXFSZ, &ignore, &original_size_);
  }
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;
  /// Restores the previous handling.
  ~SignalScope() {
    sigaction(SIGPIPE, &original_pipe_, nullptr);
    sigaction(SIGXFSZ, &original_size_, nullptr);
  }

  /// Readable when take() has a signal.
  [[nodiscard]] int fd() const noexcept { return queue_.fd(); }
  /// The next signal, or 0. Never blocks.
  [[nodiscard]] int take() const noexcept { return queue_.take(); }
  /// Signal handling for programs that this process starts: as it was before this object.
  [[nodiscard]] const InheritedSignals& inherited() const noexcept { return inherited_; }

 private:
  InheritedSignals inherited_ = inheritable_signals();
  SignalQueue queue_;
  struct sigaction original_pipe_ {};
  struct sigaction original_size_ {};
};

}  // namespace lockstep::launch
