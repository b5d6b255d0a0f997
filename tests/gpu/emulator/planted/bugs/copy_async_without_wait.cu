// The tile is read while its asynchronous copy may still be under way: commit and wait are missing.
#include "../suite.cuh"
#include "device/tensor_core.hpp"

__global__ void load(const float* in, float* out) {
  __shared__ alignas(16) float tile[128];
  lockstep::device::cp_async16(tile + 4 * threadIdx.x, in + 4 * threadIdx.x);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 128; i += 32) out[i] = tile[i];  // BUG: missing wait for cp.async
}

int main() {
  suite::Array<float> in(suite::pattern<float>(128)), out(128);
  load<<<1, 32>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[0] == 3);
}
