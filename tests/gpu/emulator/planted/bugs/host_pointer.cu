// The kernel gets the address of a vector on the host.
#include "../suite.cuh"

__global__ void scale(float* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] *= 2;  // BUG: host pointer
}

int main() {
  std::vector<float> values = suite::pattern<float>(64);
  scale<<<1, 64>>>(values.data(), 64);
  CHECK(cudaGetLastError());
  return suite::verdict(cudaDeviceSynchronize() == cudaSuccess);
}
