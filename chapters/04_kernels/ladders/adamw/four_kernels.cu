// AdamW, rung 1 of 3: one kernel per line of the formula, as in a tensor library without fusion.
//
// parameters, first and second moments, gradients [count], updated in place. 256 threads per block, any count.
// Traffic per parameter: 12 bytes for each moment (two reads, one write), 8 for the decay, 16 for the step: 48 bytes.
// Between the kernels everything goes through memory.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::adamw {

namespace {

constexpr int kThreads = 256;

__device__ int own_index() { return blockIdx.x * kThreads + threadIdx.x; }

__global__ void first_moment_kernel(float* first, const float* gradients, int count, float beta) {
  const int i = own_index();
  if (i < count) first[i] = beta * first[i] + (1.0F - beta) * gradients[i];
}

__global__ void second_moment_kernel(float* second, const float* gradients, int count, float beta) {
  const int i = own_index();
  if (i >= count) return;
  const float gradient = gradients[i];
  second[i] = beta * second[i] + (1.0F - beta) * gradient * gradient;
}

__global__ void decay_kernel(float* parameters, int count, float factor) {
  const int i = own_index();
  if (i < count) parameters[i] *= factor;
}

__global__ void step_kernel(float* parameters, const float* first, const float* second, int count, AdamWStep step) {
  const int i = own_index();
  if (i >= count) return;
  const float mean = first[i] / step.first_correction, square = second[i] / step.second_correction;
  parameters[i] -= step.learning_rate * mean / (sqrtf(square) + step.epsilon);
}

}  // namespace

void four_kernels(AdamWState state, const float* gradients, int count, AdamWStep step, cudaStream_t stream) {
  const int blocks = pieces(count, kThreads);
  first_moment_kernel<<<blocks, kThreads, 0, stream>>>(state.first_moments, gradients, count, step.beta1);
  second_moment_kernel<<<blocks, kThreads, 0, stream>>>(state.second_moments, gradients, count, step.beta2);
  const float kept = 1.0F - step.learning_rate * step.weight_decay;
  decay_kernel<<<blocks, kThreads, 0, stream>>>(state.parameters, count, kept);
  step_kernel<<<blocks, kThreads, 0, stream>>>(state.parameters, state.first_moments, state.second_moments, count,
                                               step);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::adamw
