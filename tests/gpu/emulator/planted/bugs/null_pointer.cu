// The array was never allocated.
#include "../suite.cuh"

__global__ void fill(float* out, int n) {
  if (static_cast<int>(threadIdx.x) < n) out[threadIdx.x] = 1;  // BUG: null pointer
}

int main() {
  float* out = nullptr;
  fill<<<1, 32>>>(out, 32);
  return suite::verdict(cudaDeviceSynchronize() == cudaSuccess);
}
