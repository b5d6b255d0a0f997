// Counts the even numbers of an array: each thread looks at one number, and all of them add to one total.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void count_even(int* total, const int* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && values[i] % 2 == 0) atomicAdd(total, 1);
}

int main() {
  constexpr int kCount = 256;
  int host[kCount], *values = nullptr, *total = nullptr;
  for (int i = 0; i < kCount; ++i) host[i] = i;
  cudaMalloc(&values, sizeof(host));
  cudaMalloc(&total, sizeof(int));
  cudaMemcpy(values, host, sizeof(host), cudaMemcpyHostToDevice);
  cudaMemset(total, 0, sizeof(int));
  count_even<<<2, 128>>>(total, values, kCount);
  int counted = 0;
  cudaMemcpy(&counted, total, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d of %d values are even\n", counted, kCount);
  cudaFree(values);
  cudaFree(total);
}
