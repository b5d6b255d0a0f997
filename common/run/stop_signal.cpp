#include "run/stop_signal.hpp"

#include <atomic>

namespace lockstep::run {
namespace {

// The one place a signal handler can reach; StopSignal is its only reader.
std::atomic<bool> stop_was_received = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void receive_stop(int /*signal*/) { stop_was_received = true; }

}  // namespace

StopSignal::StopSignal() {
  stop_was_received = false;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &previous_[i]);
    if (previous_[i].sa_handler == SIG_IGN) continue;  // nohup, or a job in the background of a script
    struct sigaction action {};
    action.sa_handler = receive_stop;
    // The second Ctrl-C takes the default action: it ends us. The others come twice without anybody's impatience, from
    // the launcher and from whoever signals all processes of a service.
    action.sa_flags = SA_RESTART | (kSignals[i] == SIGINT ? static_cast<int>(SA_RESETHAND) : 0);
    sigaction(kSignals[i], &action, nullptr);
  }
}

StopSignal::~StopSignal() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &previous_[i], nullptr);
}

bool StopSignal::was_received() const noexcept { return stop_was_received; }

}  // namespace lockstep::run
