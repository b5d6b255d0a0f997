// Sums an array: each block adds up 256 values in a tree, and adds its sum to the total.
#include <cuda_runtime.h>

#include <cstdio>

constexpr int kThreads = 256;

__global__ void sum_of(float* sum, const float* values, int count) {
  __shared__ float partial[kThreads];
  const int thread = threadIdx.x;
  const int i = blockIdx.x * kThreads + thread;
  partial[thread] = i < count ? values[i] : 0.0F;
  __syncthreads();
  for (int stride = kThreads / 2; stride > 0; stride /= 2) {
    if (thread < stride) partial[thread] += partial[thread + stride];
    __syncthreads();
  }
  if (thread == 0) atomicAdd(sum, partial[0]);
}

int main() {
  constexpr int kCount = 1000;
  float host[kCount], *values = nullptr, *sum = nullptr;
  for (float& value : host) value = 1;
  cudaMalloc(&values, sizeof(host));
  cudaMalloc(&sum, sizeof(float));
  cudaMemcpy(values, host, sizeof(host), cudaMemcpyHostToDevice);
  cudaMemset(sum, 0, sizeof(float));
  sum_of<<<(kCount + kThreads - 1) / kThreads, kThreads>>>(sum, values, kCount);
  float result = 0;
  cudaMemcpy(&result, sum, sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("the sum of %d ones is %g\n", kCount, result);
  cudaFree(values);
  cudaFree(sum);
}
