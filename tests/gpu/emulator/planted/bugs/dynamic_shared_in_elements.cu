// The third argument of a launch is a number of bytes; here it is the number of elements.
#include "../suite.cuh"

__global__ void reverse(float* values) {
  extern __shared__ float tile[];
  const int i = threadIdx.x;
  tile[i] = values[i];  // BUG: access out of bounds
  __syncthreads();
  values[i] = tile[127 - i];  // BUG: access out of bounds
}

int main() {
  suite::Array<float> values(suite::pattern<float>(128));
  reverse<<<1, 128, 128>>>(values.get());
  CHECK(cudaGetLastError());
  return suite::verdict(values.host()[127] == 3);
}
