#pragma once
/// @file
/// File actions and attributes of posix_spawn(3).
#include <spawn.h>

#include "launch/signal_queue.hpp"

namespace lockstep::launch {

/// What posix_spawn(3) is to do, freed at the end of the scope.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  /// For posix_spawn_file_actions_...() and posix_spawn().
  [[nodiscard]] posix_spawn_file_actions_t* actions() noexcept { return &actions_; }
  /// For posix_spawnattr_...() and posix_spawn().
  [[nodiscard]] posix_spawnattr_t* attributes() noexcept { return &attributes_; }

  /// A process group of its own, so that Ctrl-C reaches the launcher alone, which then decides; and its signals.
  void set_apart(const InheritedSignals& signals) noexcept {
    sigset_t defaults;
    sigfillset(&defaults);
    for (int signal = 1; signal < NSIG; ++signal) {
      if (sigismember(&signals.ignored, signal) == 1) sigdelset(&defaults, signal);
    }
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setsigmask(&attributes_, &signals.blocked);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace lockstep::launch
