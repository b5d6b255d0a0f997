#include "emulator/runtime/faults.hpp"

#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>

#include <string>

#include "emulator/checker/shadow.hpp"
#include "emulator/engine/device_memory.hpp"
#include "emulator/engine/settings.hpp"
#include "emulator/runtime/host_memory.hpp"
#include "emulator/runtime/reports.hpp"

namespace lockstep::emulator {
namespace {

constexpr int kExitWithFindings = 86;

// Per thread: others may run host code while a kernel runs.
thread_local bool runs_kernels = false;

struct sigaction previous {};

// Flushes standard output only if it is unlocked: the fault may have interrupted the standard library.
[[noreturn]] void end_process() {
  if (::ftrylockfile(stdout) == 0) {
    ::funlockfile(stdout);
    ::fflush(stdout);
  }
  ::_exit(kExitWithFindings);
}

struct Interrupted {
  const void* pc = nullptr;
  bool is_write = false;
};

Interrupted interrupted(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  // Bit 1 of the page fault's error code: a write. Intel SDM volume 3, section "Interrupt 14 - Page-Fault Exception".
  return {reinterpret_cast<const void*>(machine.gregs[REG_RIP]), (machine.gregs[REG_ERR] & 2) != 0};
#elif defined(__aarch64__)
  return {reinterpret_cast<const void*>(machine.pc), false};
#else
  static_cast<void>(machine);
  return {};
#endif
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
    ::sigaction(signal, &previous, nullptr);  // the access is retried and ends the process
  } else {
    previous.sa_handler(signal);
  }
}

void report_closed_memory(const void* address, const Interrupted& where) {
  if (const auto guard = HostMemory::instance().open_page(address)) {
    const ReportedCall copy{guard->user.name, guard->user.place, guard->is_write};
    // A copy's source is closed to writes only.
    report_unfinished_copy(address, {where.pc, where.is_write || !guard->is_write}, copy);
    end_process();
  }
  const DeviceMemory& memory = DeviceMemory::instance();
  if (!memory.contains(address) || memory.is_managed(address)) return;
  report_host_access(address, where.pc);
  end_process();
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (runs_kernels && open_for_kernel(info->si_addr)) return;
  if (!runs_kernels && settings().is_checked) report_closed_memory(info->si_addr, interrupted(context));
  pass_on(signal, info, context);
}

}  // namespace

bool open_for_kernel(const void* address) {
  return settings().is_checked && HostMemory::instance().open_page(address).has_value();
}

void set_runs_kernels(bool is_running) { runs_kernels = is_running; }

void watch_faults() {
  static const int kWatching = [] {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    return ::sigaction(SIGSEGV, &action, &previous);
  }();
  static_cast<void>(kWatching);
}

}  // namespace lockstep::emulator
