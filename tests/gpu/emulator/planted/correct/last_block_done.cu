// One launch: the block that finishes last adds up what all have written before their fence.
#include "../suite.cuh"

__global__ void total(const float* in, float* parts, unsigned* finished, float* out) {
  __shared__ bool is_last;
  float sum = in[blockIdx.x * 32 + threadIdx.x];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffU, sum, distance);
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicAdd(finished, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x > 0) return;
  __threadfence();
  float all = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) all += parts[i];
  *out = all;
}

int main() {
  const auto values = suite::pattern<float>(256);
  suite::Array<float> in(values), parts(8), out(1);
  suite::Array<unsigned> finished(1);
  finished.clear();
  total<<<8, 32>>>(in.get(), parts.get(), finished.get(), out.get());
  CHECK(cudaGetLastError());
  float expected = 0;
  for (const float value : values) expected += value;
  return suite::verdict(out.host()[0] == expected);
}
