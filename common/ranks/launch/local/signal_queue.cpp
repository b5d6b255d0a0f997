#include "launch/local/signal_queue.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"

namespace lockstep::launch {

namespace {

bool is_ignored(int signal) noexcept {
  struct sigaction current {};
  return sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

}  // namespace

SignalQueue::SignalQueue(std::initializer_list<int> signals) {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : signals) {
    if (signal == SIGCHLD || !is_ignored(signal)) sigaddset(&watched, signal);
  }
  fd_.reset(signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_.is_open())
    throw IoError("cannot receive signals through a descriptor (ulimit -n raises their number)", errno);
  pthread_sigmask(SIG_BLOCK, &watched, &original_mask_);
}

SignalQueue::~SignalQueue() { pthread_sigmask(SIG_SETMASK, &original_mask_, nullptr); }

InheritedSignals inheritable_signals() noexcept {
  InheritedSignals signals;
  pthread_sigmask(SIG_BLOCK, nullptr, &signals.blocked);
  sigemptyset(&signals.ignored);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGTERM && signal != SIGCHLD && is_ignored(signal)) sigaddset(&signals.ignored, signal);
  }
  return signals;
}

int SignalQueue::take() const noexcept {
  signalfd_siginfo info{};
  return read(fd_.get(), &info, sizeof(info)) == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace lockstep::launch
