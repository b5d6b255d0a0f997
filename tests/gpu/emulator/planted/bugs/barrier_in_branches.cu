// Half of the threads wait at one barrier, half at another: CUDA promises nothing for that.
#include "../suite.cuh"

__global__ void stages(float* values) {
  __shared__ float part[64];
  const int i = threadIdx.x;
  if (i < 32) {
    part[i] = values[i];
    __syncthreads();  // BUG: divergent barrier
  } else {
    part[i] = 2 * values[i];
    __syncthreads();  // BUG: divergent barrier
  }
  values[i] = part[63 - i];
}

int main() {
  suite::Array<float> values(suite::pattern<float>(64));
  stages<<<1, 64>>>(values.get());
  CHECK(cudaGetLastError());
  return suite::verdict(values.host()[0] >= 0);
}
