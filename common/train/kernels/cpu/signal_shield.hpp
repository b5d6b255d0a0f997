#pragma once
/// @file
/// Keeps signal handlers off threads that run oneDNN. Private to the module.
///
/// oneDNN's matrix products compiled for AVX and AVX-512 keep their packed operands in a buffer on the heap, and for
/// that time use the stack pointer to address it (`mov(rsp, ...)` in its jit_avx_gemm_f32.cpp and
/// jit_avx512_common_gemm_f32.cpp). The kernel writes the frame of a signal handler below the stack pointer, so a
/// signal that is handled at that moment overwrites about 3 KiB of the heap. Seen as "corrupted size vs. prev_size"
/// when a job was preempted: its SIGTERM is handled, to finish the step.
#include <signal.h>

namespace lockstep::kernels {

/// While it lives, signals to the process are handled by other threads, or wait until it goes. Those that this thread
/// itself causes (SIGSEGV and the like) are not held back. @cost  Two system calls, about 0.2 us.
class SignalShield {
 public:
  SignalShield() noexcept;
  ~SignalShield();
  SignalShield(const SignalShield&) = delete;
  SignalShield& operator=(const SignalShield&) = delete;

 private:
  sigset_t before_;
};

/// The same for good: for the threads of OpenMP's pool, on which oneDNN runs as well. Those that oneDNN's own parallel
/// regions start inherit it. @cost  A comparison, after the thread's first call.
void shield_pool_thread() noexcept;

}  // namespace lockstep::kernels
