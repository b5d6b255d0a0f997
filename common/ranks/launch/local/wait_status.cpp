#include "launch/local/wait_status.hpp"

#include <string.h>
#include <sys/wait.h>

#include <csignal>

#include "base/error.hpp"

namespace lockstep::launch {

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? concat("signal ", signal) : concat("SIG", name);
}

std::string describe_end(int status) {
  if (!WIFSIGNALED(status)) {
    const int code = WEXITSTATUS(status);
    return concat("exited with code ", code,
                  code == kInterruptedExitCode ? " (interrupted from outside, by SIGINT or SIGHUP to it alone)" : "");
  }
  const int signal = WTERMSIG(status);
  std::string text = concat("was killed by ", signal_name(signal));
  if (signal == SIGKILL) return text + " (from outside; the kernel does so when memory runs out)";
  if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) return text + " (from outside, sent to it alone)";
  const char* meaning = sigdescr_np(signal);
  return meaning == nullptr ? text : concat(text, " (", meaning, ")");
}

bool was_killed_from_outside(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

}  // namespace lockstep::launch
