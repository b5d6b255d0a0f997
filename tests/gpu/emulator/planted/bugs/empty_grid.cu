// Nothing to do gives a grid of no blocks, which is an error.
#include "../suite.cuh"

__global__ void fill(float* out, int n) {
  if (static_cast<int>(threadIdx.x) < n) out[threadIdx.x] = 1;
}

int main() {
  const int n = 0;
  suite::Array<float> out(1);
  fill<<<(n + 31) / 32, 32>>>(out.get(), n);  // BUG: bad launch
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(true);
}
