// The first thread has no left neighbour.
#include "../suite.cuh"

__global__ void left_neighbour(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i - 1];  // BUG: access out of bounds
}

int main() {
  suite::Array<float> in(suite::pattern<float>(64)), out(64);
  left_neighbour<<<1, 64>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[1] == 3);
}
