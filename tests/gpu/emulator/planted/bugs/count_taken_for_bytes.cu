// cudaMalloc counts bytes: only a quarter of the array is there.
#include "../suite.cuh"

__global__ void fill(float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1;  // BUG: access out of bounds
}

int main() {
  const int n = 4096;
  float* out = nullptr;
  CHECK(cudaMalloc(&out, n));
  fill<<<n / 256, 256>>>(out, n);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(out));
  return suite::verdict(true);
}
