// The last thread reads one element beyond the array.
#include "../suite.cuh"

__global__ void differences(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i + 1] - in[i];  // BUG: access out of bounds
}

int main() {
  suite::Array<float> in(suite::pattern<float>(128)), out(128);
  differences<<<2, 64>>>(in.get(), out.get(), 128);
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[0] == 7);
}
