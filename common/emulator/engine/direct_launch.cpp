// Launches without a runtime: the kernel runs at once, on the caller's thread. The runtime's function replaces this
// one.
#include "emulator/cuda/lockstep_emulator/launch.h"
#include "emulator/engine/execution.hpp"

namespace lockstep::emulator {

__attribute__((weak)) cudaError_t enqueue_kernel(KernelCall call, cudaStream_t) { return execute(call, 0).error; }

}  // namespace lockstep::emulator
