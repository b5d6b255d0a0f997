// The tile has no room for the halo on its right.
#include "../suite.cuh"

__global__ void stencil(const float* in, float* out) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  tile[i] = in[i];
  __syncthreads();
  out[i] = tile[i] + tile[i + 1];  // BUG: access out of bounds
}

int main() {
  suite::Array<float> in(suite::pattern<float>(64)), out(64);
  stencil<<<1, 64>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[0] == 13);
}
