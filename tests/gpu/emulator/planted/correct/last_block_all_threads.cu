// As last_block_done, but all threads of the last block read: the fence and the barrier carry the order on to them.
#include "../suite.cuh"

__global__ void total(const float* in, float* parts, unsigned* finished, float* out) {
  __shared__ bool is_last;
  __shared__ float sums[64];
  parts[blockIdx.x * 64 + threadIdx.x] = 2 * in[blockIdx.x * 64 + threadIdx.x];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(finished, 1) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  float sum = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x * 64; i += 64) sum += parts[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  *out = 0;
  for (int i = 0; i < 64; ++i) *out += sums[i];
}

int main() {
  const auto values = suite::pattern<float>(256);
  suite::Array<float> in(values), parts(256), out(1);
  suite::Array<unsigned> finished(1);
  finished.clear();
  total<<<4, 64>>>(in.get(), parts.get(), finished.get(), out.get());
  CHECK(cudaGetLastError());
  float expected = 0;
  for (const float value : values) expected += 2 * value;
  return suite::verdict(out.host()[0] == expected);
}
