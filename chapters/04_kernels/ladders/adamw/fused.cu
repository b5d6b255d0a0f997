// AdamW, rung 2 of 3: one kernel, which keeps a parameter's whole step in registers.
//
// parameters, first and second moments, gradients [count], updated in place. 256 threads per block, any count.
// Removes: 20 of 48 bytes per parameter, written only for the next kernel to read, and three launches. The remaining 28
// bytes must move: four values read and three written.
// Pays: 4 bytes per load instruction.
#include "update.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::adamw {

namespace {

constexpr int kThreads = 256;

__global__ void fused_kernel(AdamWState state, const float* gradients, int count, AdamWStep step) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) update_one(state, gradients, i, step);
}

}  // namespace

void fused(AdamWState state, const float* gradients, int count, AdamWStep step, cudaStream_t stream) {
  fused_kernel<<<pieces(count, kThreads), kThreads, 0, stream>>>(state, gradients, count, step);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::adamw
