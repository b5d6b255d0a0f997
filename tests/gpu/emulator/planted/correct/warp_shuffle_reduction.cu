// Warps reduce by shuffles, then the first warp reduces their sums.
#include "../suite.cuh"

__device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffffU, value, distance);
  return value;
}

__global__ void sum(const float* in, float* out) {
  __shared__ float warp_sums[32];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float value = warp_sum(in[threadIdx.x]);
  if (lane == 0) warp_sums[warp] = value;
  __syncthreads();
  if (warp > 0) return;
  value = warp_sum(lane < blockDim.x / 32 ? warp_sums[lane] : 0);
  if (lane == 0) *out = value;
}

int main() {
  const auto values = suite::pattern<float>(192);
  suite::Array<float> in(values), out(1);
  sum<<<1, 192>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  float expected = 0;
  for (const float value : values) expected += value;
  return suite::verdict(out.host()[0] == expected);
}
