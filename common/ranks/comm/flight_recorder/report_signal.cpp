#include "comm/flight_recorder/report_signal.hpp"

#include <signal.h>

#include <atomic>

namespace lockstep::comm {
namespace {

// A signal handler can only use a global variable.
std::atomic<unsigned> asked = 0;
static_assert(std::atomic<unsigned>::is_always_lock_free, "a signal handler must not wait for a lock");

extern "C" void count_report_signal(int) { asked.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

void watch_report_signal() noexcept {
  struct sigaction current {};
  if (::sigaction(SIGUSR1, nullptr, &current) != 0) return;
  const bool is_left_to_system = (current.sa_flags & SA_SIGINFO) == 0 && current.sa_handler == SIG_DFL;
  if (!is_left_to_system) return;
  struct sigaction own {};
  own.sa_handler = count_report_signal;
  own.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &own, nullptr);
}

unsigned reports_asked() noexcept { return asked.load(std::memory_order_relaxed); }

}  // namespace lockstep::comm
