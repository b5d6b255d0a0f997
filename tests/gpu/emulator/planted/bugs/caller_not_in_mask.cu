// All lanes shuffle, but the mask names half of them.
#include "../suite.cuh"

__global__ void sum(const float* in, float* out) {
  float value = in[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) {
    value += __shfl_down_sync(0xffffU, value, d);  // BUG: wrong mask, ALSO: shuffle from a lane that takes no part
  }
  if (threadIdx.x == 0) *out = value;
}

int main() {
  suite::Array<float> in(suite::pattern<float>(32)), out(1);
  sum<<<1, 32>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[0] > 0);
}
