// Threads count with ++ where an atomic is needed: updates get lost.
#include "../suite.cuh"

__global__ void count(const int* values, int n, int* bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) bins[values[i]]++;  // BUG: race
}

int main() {
  suite::Array<int> values(suite::pattern<int>(300)), bins(11);
  bins.clear();
  count<<<3, 128>>>(values.get(), 300, bins.get());
  CHECK(cudaGetLastError());
  return suite::verdict(bins.host()[3] == 28);
}
