// Host code dereferences a device pointer.
#include "../suite.cuh"

__global__ void fill(float* out) { out[threadIdx.x] = 1; }

int main() {
  suite::Array<float> out(32);
  fill<<<1, 32>>>(out.get());
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(out.get()[0] == 1);  // BUG: device memory used by host code
}
