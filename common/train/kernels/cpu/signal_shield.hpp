#pragma once
/// @file
/// Keeps signal handlers off threads that run oneDNN. Internal to this module.
///
/// oneDNN's matrix products compiled for AVX and AVX-512 keep their packed operands in a buffer on the heap, and
/// meanwhile use the stack pointer to address it (`mov(rsp, ...)` in its jit_avx_gemm_f32.cpp and
/// jit_avx512_common_gemm_f32.cpp). The kernel writes the frame of a signal handler below the stack pointer, so
/// handling a signal at that moment overwrites about 3 KiB of the heap. Seen as "corrupted size vs. prev_size" when a
/// job was preempted: it handles SIGTERM, to finish the step.
#include <signal.h>

namespace lockstep::kernels {

/// While it lives, other threads handle signals to the process, or the signals wait. Signals caused by this thread
/// itself (SIGSEGV and the like) are not blocked. @cost  Two system calls, about 0.2 us.
class SignalShield {
 public:
  SignalShield() noexcept;
  ~SignalShield();
  SignalShield(const SignalShield&) = delete;
  SignalShield& operator=(const SignalShield&) = delete;

 private:
  sigset_t before_;
};

/// The same, permanently: for the threads of OpenMP's pool, on which oneDNN runs as well. Threads that oneDNN's own
/// parallel regions start inherit it. @cost  A comparison, after the thread's first call.
void shield_pool_thread() noexcept;

}  // namespace lockstep::kernels
