// The grid is rounded up to whole blocks; nothing stops the threads beyond the end.
#include "../suite.cuh"

__global__ void add(const float* a, const float* b, float* c) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] = a[i] + b[i];  // BUG: access out of bounds
}

int main() {
  const int n = 1000;
  suite::Array<float> a(suite::pattern<float>(n)), b(suite::pattern<float>(n)), c(n);
  add<<<(n + 255) / 256, 256>>>(a.get(), b.get(), c.get());
  CHECK(cudaGetLastError());
  return suite::verdict(c.host()[0] == 6);
}
