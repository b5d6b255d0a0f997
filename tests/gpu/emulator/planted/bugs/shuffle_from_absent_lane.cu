// The last lane of the mask reads from the lane after it, which is not in the mask.
#include "../suite.cuh"

__global__ void differences(float* values) {
  const unsigned lane = threadIdx.x;
  if (lane >= 16) return;
  const float next = __shfl_down_sync(0x0000ffffU, values[lane], 1);  // BUG: shuffle from a lane that takes no part
  values[lane] = next - values[lane];
}

int main() {
  suite::Array<float> values(suite::pattern<float>(32));
  differences<<<1, 32>>>(values.get());
  CHECK(cudaGetLastError());
  return suite::verdict(values.host()[0] == 7);
}
