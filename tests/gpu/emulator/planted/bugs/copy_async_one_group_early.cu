// Of two groups under way the older one is waited for, the younger one is read.
#include "../suite.cuh"
#include "device/tensor_core.hpp"

__global__ void load(const float* in, float* out) {
  __shared__ alignas(16) float tile[2][128];
  for (int stage = 0; stage < 2; ++stage) {
    lockstep::device::cp_async16(&tile[stage][4 * threadIdx.x], in + stage * 128 + 4 * threadIdx.x);
    lockstep::device::cp_async_commit();
  }
  lockstep::device::cp_async_wait<1>();
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 128; i += 32) out[i] = tile[1][i];  // BUG: missing wait for cp.async
}

int main() {
  suite::Array<float> in(suite::pattern<float>(256)), out(128);
  load<<<1, 32>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host().size() == 128);
}
