// The launch asks for no dynamic shared memory at all.
#include "../suite.cuh"

__global__ void reverse(float* values) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = values[threadIdx.x];  // BUG: access out of bounds
  __syncthreads();
  values[threadIdx.x] = tile[63 - threadIdx.x];  // BUG: access out of bounds
}

int main() {
  suite::Array<float> values(suite::pattern<float>(64));
  reverse<<<1, 64>>>(values.get());
  CHECK(cudaGetLastError());
  return suite::verdict(values.host()[63] == 3);
}
