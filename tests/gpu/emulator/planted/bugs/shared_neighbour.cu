// Each thread reads what its neighbour wrote, with no barrier between.
#include "../suite.cuh"

__global__ void shift(const float* in, float* out) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  tile[i] = in[i];              // BUG: race
  out[i] = tile[(i + 1) % 64];  // ALSO: uninitialised read
}

int main() {
  suite::Array<float> in(suite::pattern<float>(64)), out(64);
  shift<<<1, 64>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[63] == 3);
}
