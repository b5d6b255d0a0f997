// AdamW, rung 3 of 3: four parameters per thread.
//
// parameters, first and second moments, gradients [count], updated in place; all begin at 16-byte boundaries. 256
// threads per block, any count. Removes: three quarters of the load and store instructions. Traffic: 28 bytes per
// parameter for some 15 operations: the bound is the memory's bandwidth by far. What could still be saved is bytes
// (moments in fewer bits) and launches (all tensors of a model in one, as our optimizer does).
#include "update.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::adamw {

namespace {

constexpr int kThreads = 256;

__device__ float4& four_at(float* values, int i) { return reinterpret_cast<float4*>(values)[i]; }

__device__ void update_four(const AdamWState& state, const float* gradients, int i, const AdamWStep& step) {
  float4 parameter = four_at(state.parameters, i);
  float4 first = four_at(state.first_moments, i), second = four_at(state.second_moments, i);
  const float4 gradient = reinterpret_cast<const float4*>(gradients)[i];
  update(parameter.x, first.x, second.x, gradient.x, step);
  update(parameter.y, first.y, second.y, gradient.y, step);
  update(parameter.z, first.z, second.z, gradient.z, step);
  update(parameter.w, first.w, second.w, gradient.w, step);
  four_at(state.parameters, i) = parameter;
  four_at(state.first_moments, i) = first;
  four_at(state.second_moments, i) = second;
}

__global__ void vectorised_kernel(AdamWState state, const float* gradients, int count, AdamWStep step) {
  const int thread = blockIdx.x * kThreads + threadIdx.x, groups = count / 4;
  if (thread < groups) update_four(state, gradients, thread, step);
  const int left_over = 4 * groups + thread;  // 0 to 3 parameters at the end
  if (left_over >= count) return;
  update(state.parameters[left_over], state.first_moments[left_over], state.second_moments[left_over],
         gradients[left_over], step);
}

}  // namespace

void vectorised(AdamWState state, const float* gradients, int count, AdamWStep step, cudaStream_t stream) {
  vectorised_kernel<<<pieces(count, 4 * kThreads), kThreads, 0, stream>>>(state, gradients, count, step);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::adamw
