// One thread reads a counter plainly while others still add to it.
#include "../suite.cuh"

__global__ void count_and_store(int* counter, int* out) {
  atomicAdd(counter, 1);
  if (threadIdx.x == 0) *out = *counter;  // BUG: race
}

int main() {
  suite::Array<int> counter(1), out(1);
  counter.clear();
  count_and_store<<<1, 64>>>(counter.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[0] > 0);
}
