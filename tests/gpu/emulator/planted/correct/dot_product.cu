// Each block reduces its part, then adds it to the result with one atomic.
#include "../suite.cuh"

__global__ void dot(const float* a, const float* b, int n, float* out) {
  __shared__ float block_sum;
  if (threadIdx.x == 0) block_sum = 0;
  __syncthreads();
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i] * b[i];
  atomicAdd(&block_sum, sum);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(out, block_sum);
}

int main() {
  const auto values = suite::pattern<float>(500);
  suite::Array<float> a(values), b(values), out(1);
  out.clear();
  dot<<<3, 64>>>(a.get(), b.get(), 500, out.get());
  CHECK(cudaGetLastError());
  float expected = 0;
  for (const float value : values) expected += value * value;
  return suite::verdict(out.host()[0] == expected);
}
