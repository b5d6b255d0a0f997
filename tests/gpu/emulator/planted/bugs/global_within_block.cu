// Global memory needs a barrier between threads of a block just as shared memory does.
#include "../suite.cuh"

__global__ void reverse(float* values) {
  const int i = threadIdx.x;
  values[i] *= 2;  // BUG: race
  const float other = values[127 - i];
  __syncthreads();
  values[i] = other;
}

int main() {
  suite::Array<float> values(suite::pattern<float>(128));
  reverse<<<1, 128>>>(values.get());
  CHECK(cudaGetLastError());
  return suite::verdict(values.host()[127] == 6);
}
