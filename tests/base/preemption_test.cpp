#include "base/preemption.hpp"

#include <csignal>
#include <cstdlib>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;

TEST_CASE("a signal that may ask for a stop has a name or a number", "[base]") {
  CHECK(parse_preempt_signal("SIGUSR2") == SIGUSR2);
  CHECK(parse_preempt_signal("USR1") == SIGUSR1);
  CHECK(parse_preempt_signal("TERM") == SIGTERM);
  CHECK(parse_preempt_signal("XCPU") == SIGXCPU);
  CHECK(parse_preempt_signal(std::to_string(SIGUSR2)) == SIGUSR2);
  CHECK(parse_preempt_signal("SIGRTMIN+3") == SIGRTMIN + 3);
  for (const char* wrong : {"", "SIG", "SIGKILL", "KILL", "9", "SIGSEGV", "11", "0", "-1", "usr2", "12x", "SIGRTMIN+99",
                            "SIGRTMIN+", "SIGRTMIN+-1", "INT"})
    CHECK_FALSE(parse_preempt_signal(wrong).has_value());
}

TEST_CASE("the variable of the signal is checked when it is read", "[base]") {
  unsetenv("LOCKSTEP_PREEMPT_SIGNAL");
  CHECK_FALSE(preempt_signal_of_environment().has_value());
  setenv("LOCKSTEP_PREEMPT_SIGNAL", "USR2", 1);
  CHECK(preempt_signal_of_environment() == SIGUSR2);
  setenv("LOCKSTEP_PREEMPT_SIGNAL", "SEGV", 1);
  CHECK_THROWS_WITH(preempt_signal_of_environment(), ContainsSubstring("LOCKSTEP_PREEMPT_SIGNAL is SEGV"));
  unsetenv("LOCKSTEP_PREEMPT_SIGNAL");
}
