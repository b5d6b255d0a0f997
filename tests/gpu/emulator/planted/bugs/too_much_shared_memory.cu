// More than 48 KiB of dynamic shared memory has to be asked for first, with cudaFuncSetAttribute.
#include "../suite.cuh"

__global__ void reverse(float* values, int n) {
  extern __shared__ float tile[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = values[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] = tile[n - 1 - i];
}

int main() {
  const int n = 20000;
  suite::Array<float> values(suite::pattern<float>(n));
  reverse<<<1, 256, n * sizeof(float)>>>(values.get(), n);  // BUG: bad launch
  return suite::verdict(values.host()[n - 1] == 3);
}
