// The array is freed before the kernel that reads it is launched.
#include "../suite.cuh"

__global__ void copy(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x];  // BUG: use after free
}

int main() {
  float* in = nullptr;
  CHECK(cudaMalloc(&in, 64 * sizeof(float)));
  CHECK(cudaMemset(in, 0, 64 * sizeof(float)));
  suite::Array<float> out(64);
  CHECK(cudaFree(in));
  copy<<<1, 64>>>(in, out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(cudaDeviceSynchronize() == cudaSuccess);
}
