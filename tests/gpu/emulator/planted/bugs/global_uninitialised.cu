// cudaMalloc clears nothing: adding to fresh memory adds to garbage.
#include "../suite.cuh"

__global__ void accumulate(const float* in, float* sums, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sums[i] += in[i];  // BUG: uninitialised read
}

int main() {
  suite::Array<float> in(suite::pattern<float>(100)), sums(100);
  accumulate<<<2, 64>>>(in.get(), sums.get(), 100);
  CHECK(cudaGetLastError());
  return suite::verdict(sums.host().size() == 100);
}
