// The kernel promises blocks of at most 128 threads; the launch breaks the promise.
#include "../suite.cuh"

__global__ void __launch_bounds__(128) fill(float* out) { out[threadIdx.x] = 1; }

int main() {
  suite::Array<float> out(256);
  out.clear();
  fill<<<1, 256>>>(out.get());  // BUG: bad launch
  return suite::verdict(out.host()[0] == 1);
}
