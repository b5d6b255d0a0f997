// Per-warp sums live in dynamic shared memory; one warp too many is read.
#include "../suite.cuh"

__global__ void sum(const float* in, float* out) {
  extern __shared__ float warp_sums[];
  float value = in[threadIdx.x];
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffffU, value, distance);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x > 0) return;
  float total = 0;
  for (int warp = 0; warp < 4; ++warp) total += warp_sums[warp];  // BUG: uninitialised read
  *out = total;
}

int main() {
  suite::Array<float> in(suite::pattern<float>(96)), out(1);
  sum<<<1, 96, 4 * sizeof(float)>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[0] > 0);
}
