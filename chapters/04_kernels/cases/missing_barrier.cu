// A missing barrier: a block turns 64 values round in shared memory, and reads before all have written.
//
// On a GPU the 32 threads of a warp keep step more often than not, so that half of the values look right.
// The cure: __syncthreads() between the write and the read.
#include <cuda_runtime.h>

#include <cstdio>

constexpr int kCount = 64;

__global__ void reverse(float* values) {
  __shared__ float copy[kCount];
  const int i = threadIdx.x;
  copy[i] = values[i];
  values[i] = copy[kCount - 1 - i];
}

int main() {
  float host[kCount], *values = nullptr;
  for (int i = 0; i < kCount; ++i) host[i] = static_cast<float>(i);
  cudaMalloc(&values, sizeof(host));
  cudaMemcpy(values, host, sizeof(host), cudaMemcpyHostToDevice);
  reverse<<<1, kCount>>>(values);
  cudaMemcpy(host, values, sizeof(host), cudaMemcpyDeviceToHost);
  std::printf("%g %g ... %g %g\n", host[0], host[1], host[kCount - 2], host[kCount - 1]);
  cudaFree(values);
}
