#include "run/stop_signal.hpp"

#include <atomic>
#include <set>

#include "base/preemption.hpp"

namespace lockstep::run {
namespace {

// The only state that a signal handler can reach; only StopSignal reads it.
std::atomic<bool> was_interrupted = false, was_preempted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void receive_stop(int signal) {
  const bool is_interruption = signal == SIGINT || signal == SIGHUP;
  (is_interruption ? was_interrupted : was_preempted) = true;
}

}  // namespace

StopSignal::StopSignal() {
  std::set<int> signals{SIGINT, SIGTERM, SIGHUP};
  if (const auto chosen = preempt_signal_of_environment()) signals.insert(*chosen);
  was_interrupted = was_preempted = false;
  for (const int signal : signals) {
    struct sigaction& previous = previous_[signal];
    sigaction(signal, nullptr, &previous);
    if (previous.sa_handler == SIG_IGN) continue;  // nohup, or a background job of a script
    struct sigaction action {};
    action.sa_handler = receive_stop;
    // The second Ctrl-C takes the default action, which ends the process. The other signals may arrive twice without
    // anyone pressing a key: from the launcher, and from a service manager that signals all its processes.
    action.sa_flags = SA_RESTART | (signal == SIGINT ? static_cast<int>(SA_RESETHAND) : 0);
    sigaction(signal, &action, nullptr);
  }
}

StopSignal::~StopSignal() {
  for (const auto& [signal, previous] : previous_) sigaction(signal, &previous, nullptr);
}

StopReason StopSignal::reason() const noexcept {
  if (was_interrupted) return StopReason::kInterrupted;
  return was_preempted ? StopReason::kPreempted : StopReason::kNone;
}

}  // namespace lockstep::run
