// AdamW, rung 3 of 3: four parameters per thread.
//
// parameters, first and second moments, gradients [count], updated in place; all begin at 16-byte boundaries. 256
// threads per block, any count.
// Removes: three quarters of the load and store instructions.
// Traffic: 28 bytes per parameter for some 15 operations: by far bound by memory bandwidth. Further savings: bytes
// (moments in fewer bits) and launches (many tensors in one launch, as PyTorch's fused optimizers do).
#include "update.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::adamw {

namespace {

constexpr int kThreads = 256;

__device__ float4& four_at(float* values, int i) { return reinterpret_cast<float4*>(values)[i]; }

__device__ void update_four(const AdamWState& state, const float* gradients, int i, const AdamWStep& step) {
  const float4 p = four_at(state.parameters, i), g = reinterpret_cast<const float4*>(gradients)[i];
  const float4 m = four_at(state.first_moments, i), v = four_at(state.second_moments, i);
  const Kept x = updated({p.x, m.x, v.x}, g.x, step), y = updated({p.y, m.y, v.y}, g.y, step);
  const Kept z = updated({p.z, m.z, v.z}, g.z, step), w = updated({p.w, m.w, v.w}, g.w, step);
  four_at(state.parameters, i) = make_float4(x.parameter, y.parameter, z.parameter, w.parameter);
  four_at(state.first_moments, i) = make_float4(x.first_moment, y.first_moment, z.first_moment, w.first_moment);
  four_at(state.second_moments, i) = make_float4(x.second_moment, y.second_moment, z.second_moment, w.second_moment);
}

__global__ void vectorised_kernel(AdamWState state, const float* gradients, int count, AdamWStep step) {
  const int thread = blockIdx.x * kThreads + threadIdx.x, groups = count / 4;
  if (thread < groups) update_four(state, gradients, thread, step);
  const int left_over = 4 * groups + thread;  // 0 to 3 parameters at the end
  if (left_over < count) update_one(state, gradients, left_over, step);
}

}  // namespace

void vectorised(AdamWState state, const float* gradients, int count, AdamWStep step, cudaStream_t stream) {
  vectorised_kernel<<<pieces(count, 4 * kThreads), kThreads, 0, stream>>>(state, gradients, count, step);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::adamw
