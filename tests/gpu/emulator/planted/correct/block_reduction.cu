// A tree in shared memory, a barrier in every round, the tail filled with zeros.
#include "../suite.cuh"

__global__ void block_sums(const float* in, int n, float* out) {
  __shared__ float part[128];
  const int i = blockIdx.x * 128 + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned stride = 64; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) part[threadIdx.x] += part[threadIdx.x + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

int main() {
  const auto values = suite::pattern<float>(300);
  suite::Array<float> in(values), out(3);
  block_sums<<<3, 128>>>(in.get(), 300, out.get());
  CHECK(cudaGetLastError());
  float sum = 0, expected = 0;
  for (const float value : out.host()) sum += value;
  for (const float value : values) expected += value;
  return suite::verdict(sum == expected);
}
