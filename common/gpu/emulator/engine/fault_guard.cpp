#include "emulator/engine/fault_guard.hpp"

#include <ucontext.h>

#include <cerrno>
#include <cstdint>
#include <memory>

#include "base/error.hpp"
#include "base/text.hpp"
#include "emulator/engine/block_runner.hpp"

namespace lockstep::emulator {

namespace {

constexpr std::array<int, FaultGuard::kSignals> kSignalNumbers = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

/// The fault, for the code that continues after the signal handler. One kernel runs at a time.
struct Fault {
  int signal = 0;
  const void* address = nullptr;
  const void* pc = nullptr;
};
Fault last_fault;
const std::array<struct sigaction, FaultGuard::kSignals>* handlers_before = nullptr;
FaultRepair current_repair = nullptr;
thread_local bool is_guarded = false;

/// An overflowed stack has no room for a handler, which needs a separate stack.
class SignalStack {
 public:
  SignalStack() {
    stack_t current{};
    ::sigaltstack(nullptr, &current);
    if ((current.ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::make_unique<std::byte[]>(kBytes);
    stack_t own{};
    own.ss_sp = memory_.get();
    own.ss_size = kBytes;
    if (::sigaltstack(&own, nullptr) != 0) throw IoError("emulator: sigaltstack", errno);
  }
  ~SignalStack() {
    if (memory_ == nullptr) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  static constexpr std::size_t kBytes = 64 * 1024;
  std::unique_ptr<std::byte[]> memory_;
};

EngineFinding describe(const Fault& fault, const ThreadPlace& thread) {
  EngineFinding finding{EngineFindingKind::kIllegalAddress, {}, thread.place, {thread}, true, fault.pc};
  if (BlockRunner::instance().threads().is_below_stack(fault.address)) {
    finding.kind = EngineFindingKind::kStackOverflow;
    finding.message = "stack overflow: a thread's local variables and calls need more than 64 KiB";
  } else if (fault.signal == SIGFPE) {
    finding.message = "integer division by zero, or of the least number by -1 (a GPU gives an undefined number)";
  } else if (fault.signal == SIGILL) {
    finding.message = "the kernel ran into a trap";
  } else {
    finding.message = concat("illegal address ", fault.address, ": nothing that a kernel may use is there");
  }
  return finding;
}

/// The thread continues here, on its emptied stack: its kernel frames are gone.
void land_after_fault() {
  const ThreadState& state = *current_thread();
  BlockRunner::instance().end_kernel(
      describe(last_fault, {state.thread_idx, state.waiting_at, "ran last past a barrier or collective"}));
}

void go_on_at_landing(ucontext_t& context, std::byte* stack_end) {
  const std::uintptr_t top = reinterpret_cast<std::uintptr_t>(stack_end) / 16 * 16;
#if defined(__x86_64__)
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(top - 8);  // as after a call
  context.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&land_after_fault);
#elif defined(__aarch64__)
  context.uc_mcontext.sp = top;
  context.uc_mcontext.pc = reinterpret_cast<std::uintptr_t>(&land_after_fault);
#else
  static_cast<void>(context);
  static_cast<void>(top);
#endif
}

Fault interrupted(int signal, const siginfo_t& info, const ucontext_t& context) {
  Fault fault{signal, info.si_addr, nullptr};
#if defined(__x86_64__)
  fault.pc = reinterpret_cast<const void*>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  fault.pc = reinterpret_cast<const void*>(context.uc_mcontext.pc);
#else
  static_cast<void>(context);
#endif
  return fault;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  std::size_t index = 0;
  while (kSignalNumbers[index] != signal) ++index;
  const struct sigaction& before = (*handlers_before)[index];
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  ::sigaction(signal, &before, nullptr);  // the faulting access is retried and ends the process
}

void on_fault(int signal, siginfo_t* info, void* raw_context) {
  auto& context = *static_cast<ucontext_t*>(raw_context);
  const ThreadState* thread = is_guarded ? current_thread() : nullptr;
#if !defined(__x86_64__) && !defined(__aarch64__)
  thread = nullptr;  // continuing elsewhere is not implemented on this platform
#endif
  if (thread == nullptr) return pass_on(signal, info, raw_context);
  if (signal == SIGSEGV && current_repair != nullptr && current_repair(info->si_addr)) return;
  last_fault = interrupted(signal, *info, context);
  go_on_at_landing(context, thread->stack_end);
}

}  // namespace

FaultGuard::FaultGuard(FaultRepair repair) {
  static thread_local const SignalStack kStack;
  current_repair = repair;
  is_guarded = true;
  struct sigaction action {};
  action.sa_sigaction = &on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t index = 0; index < kSignals; ++index) {
    ::sigaction(kSignalNumbers[index], &action, &before_[index]);
  }
  handlers_before = &before_;
}

FaultGuard::~FaultGuard() {
  for (std::size_t index = 0; index < kSignals; ++index) ::sigaction(kSignalNumbers[index], &before_[index], nullptr);
  is_guarded = false;
}

}  // namespace lockstep::emulator
