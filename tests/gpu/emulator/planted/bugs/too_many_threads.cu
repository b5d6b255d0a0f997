// A block has at most 1024 threads; the error is there to be asked for, but nobody asks.
#include "../suite.cuh"

__global__ void fill(float* out) { out[threadIdx.x] = 1; }

int main() {
  suite::Array<float> out(2048);
  out.clear();
  fill<<<1, 2048>>>(out.get());  // BUG: bad launch
  return suite::verdict(out.host()[0] == 1);
}
