// Lab 2, B3: two blocks of 128 threads count the values below 100. The kernel has a race.
//
// Mend it in two ways: with one atomicAdd() per thread that has found a small value, and with one per block.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void count_small(int* found, const int* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && values[i] < 100) *found = *found + 1;
}

int main() {
  constexpr int kCount = 256, kThreads = 128;
  int host[kCount];
  for (int i = 0; i < kCount; ++i) host[i] = 7 * i % kCount;  // each of 0 .. 255 once
  int *values = nullptr, *found = nullptr;
  cudaMalloc(&values, sizeof(host));
  cudaMalloc(&found, sizeof(int));
  cudaMemcpy(values, host, sizeof(host), cudaMemcpyHostToDevice);
  cudaMemset(found, 0, sizeof(int));
  count_small<<<kCount / kThreads, kThreads>>>(found, values, kCount);
  int result = 0;
  cudaMemcpy(&result, found, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d of %d values are below 100\n", result, kCount);
  cudaFree(found);
  cudaFree(values);
}
