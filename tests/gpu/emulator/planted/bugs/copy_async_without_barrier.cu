// Each thread waits for its own copies only; those of the others need a barrier.
#include "../suite.cuh"
#include "device/tensor_core.hpp"

__global__ void load(const float* in, float* out) {
  __shared__ alignas(16) float tile[256];
  lockstep::device::cp_async16(tile + 4 * threadIdx.x, in + 4 * threadIdx.x);  // BUG: race
  lockstep::device::cp_async_commit();
  lockstep::device::cp_async_wait<0>();
  for (unsigned i = threadIdx.x; i < 256; i += 64) out[i] = tile[i];  // BUG: race, ALSO: uninitialised read
}

int main() {
  suite::Array<float> in(suite::pattern<float>(256)), out(256);
  load<<<1, 64>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host().size() == 256);
}
