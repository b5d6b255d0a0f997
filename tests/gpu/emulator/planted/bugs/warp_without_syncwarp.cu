// Lanes of a warp no longer run in lockstep since Volta: passing values through shared memory needs __syncwarp().
#include "../suite.cuh"

__global__ void swap_pairs(float* values) {
  __shared__ float slot[32];
  const int lane = threadIdx.x;
  slot[lane] = values[lane];      // BUG: race
  values[lane] = slot[lane ^ 1];  // ALSO: uninitialised read
}

int main() {
  suite::Array<float> values(suite::pattern<float>(32));
  swap_pairs<<<1, 32>>>(values.get());
  CHECK(cudaGetLastError());
  return suite::verdict(values.host()[1] == 3);
}
