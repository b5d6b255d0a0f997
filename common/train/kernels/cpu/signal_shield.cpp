#include "kernels/cpu/signal_shield.hpp"

#include <initializer_list>

namespace lockstep::kernels {
namespace {

// All except those caused by an instruction of the thread itself: if blocked, they would end the process unhandled.
sigset_t asynchronous_signals() noexcept {
  sigset_t signals;
  sigfillset(&signals);
  for (const int caused : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&signals, caused);
  return signals;
}

void hold_back_signals(sigset_t* before) noexcept {
  static const sigset_t signals = asynchronous_signals();
  pthread_sigmask(SIG_BLOCK, &signals, before);
}

}  // namespace

SignalShield::SignalShield() noexcept { hold_back_signals(&before_); }

SignalShield::~SignalShield() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void shield_pool_thread() noexcept {
  thread_local bool is_shielded = false;
  if (is_shielded) return;
  hold_back_signals(nullptr);
  is_shielded = true;
}

}  // namespace lockstep::kernels
