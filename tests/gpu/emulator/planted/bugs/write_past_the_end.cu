// i <= n lets one thread too many write.
#include "../suite.cuh"

__global__ void fill(int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) out[i] = i;  // BUG: access out of bounds
}

int main() {
  suite::Array<int> out(100);
  fill<<<2, 64>>>(out.get(), 100);
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[99] == 99);
}
