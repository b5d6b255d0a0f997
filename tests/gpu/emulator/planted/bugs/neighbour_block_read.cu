// A block reads what another block of the same launch writes: nothing says which comes first.
#include "../suite.cuh"

__global__ void smooth(float* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 1 || i + 1 >= n) return;
  const float mean = (values[i - 1] + values[i] + values[i + 1]) / 3;  // BUG: race
  values[i] = mean;                                                    // BUG: race
}

int main() {
  suite::Array<float> values(suite::pattern<float>(256));
  smooth<<<4, 64>>>(values.get(), 256);
  CHECK(cudaGetLastError());
  return suite::verdict(values.host()[0] == 3);
}
