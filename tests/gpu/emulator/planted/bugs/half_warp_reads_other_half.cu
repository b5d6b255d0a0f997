// Each half of the warp meets by itself, then reads what the other half wrote.
#include "../suite.cuh"

__global__ void exchange(float* values) {
  __shared__ float slot[32];
  const unsigned lane = threadIdx.x;
  slot[lane] = values[lane];  // BUG: race
  __syncwarp(lane < 16 ? 0x0000ffffU : 0xffff0000U);
  values[lane] = slot[lane ^ 16];  // ALSO: uninitialised read
}

int main() {
  suite::Array<float> values(suite::pattern<float>(32));
  exchange<<<1, 32>>>(values.get());
  CHECK(cudaGetLastError());
  return suite::verdict(values.host()[16] == 3);
}
