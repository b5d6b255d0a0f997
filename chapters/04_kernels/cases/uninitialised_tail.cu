// An uninitialised tail: a block adds up 200 values with 256 threads, and 56 places of shared memory are never written.
//
// On a GPU they hold what the last block left there: zeros in a fresh process, so that the first test passes.
// The cure: partial[i] = i < count ? values[i] : 0.
#include <cuda_runtime.h>

#include <cstdio>

constexpr int kThreads = 256;

__global__ void sum_of(float* sum, const float* values, int count) {
  __shared__ float partial[kThreads];
  const int i = threadIdx.x;
  if (i < count) partial[i] = values[i];
  __syncthreads();
  for (int stride = kThreads / 2; stride > 0; stride /= 2) {
    if (i < stride) partial[i] += partial[i + stride];
    __syncthreads();
  }
  if (i == 0) *sum = partial[0];
}

int main() {
  constexpr int kCount = 200;
  float host[kCount], *values = nullptr, *sum = nullptr;
  for (float& value : host) value = 1;
  cudaMalloc(&values, sizeof(host));
  cudaMalloc(&sum, sizeof(float));
  cudaMemcpy(values, host, sizeof(host), cudaMemcpyHostToDevice);
  sum_of<<<1, kThreads>>>(sum, values, kCount);
  float result = 0;
  cudaMemcpy(&result, sum, sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("the sum of %d ones is %g\n", kCount, result);
  cudaFree(values);
  cudaFree(sum);
}
