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
  struct sigaction action {};
  action.sa_handler = receive_stop;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);  // the second one takes the default action: it ends us
  sigaction(SIGINT, &action, &previous_interrupt_);
  sigaction(SIGTERM, &action, &previous_terminate_);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &previous_interrupt_, nullptr);
  sigaction(SIGTERM, &previous_terminate_, nullptr);
}

bool StopSignal::was_received() const noexcept { return stop_was_received; }

}  // namespace lockstep::run
