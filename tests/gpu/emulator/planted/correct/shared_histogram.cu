// Each block counts in shared memory with atomics, then adds its bins to the result with atomics.
#include "../suite.cuh"

__global__ void histogram(const int* values, int n, int* bins) {
  __shared__ int own[11];
  for (unsigned i = threadIdx.x; i < 11; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[values[i]], 1);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 11; i += blockDim.x) atomicAdd(&bins[i], own[i]);
}

int main() {
  const auto values = suite::pattern<int>(1000);
  suite::Array<int> in(values), bins(11);
  bins.clear();
  histogram<<<4, 64>>>(in.get(), 1000, bins.get());
  CHECK(cudaGetLastError());
  std::vector<int> expected(11);
  for (const int value : values) ++expected[value];
  return suite::verdict(bins.host() == expected);
}
