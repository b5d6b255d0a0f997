// Many threads read one place in the same phase: reads alone are no race.
#include "../suite.cuh"

__global__ void subtract_first(float* values, int n) {
  __shared__ float first;
  if (threadIdx.x == 0) first = values[blockIdx.x * n];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) values[blockIdx.x * n + i] -= first;
}

int main() {
  const auto values = suite::pattern<float>(200);
  suite::Array<float> result(values);
  subtract_first<<<2, 32>>>(result.get(), 100);
  CHECK(cudaGetLastError());
  const auto host = result.host();
  bool is_right = true;
  for (int i = 0; i < 200; ++i) is_right = is_right && host[i] == values[i] - values[i / 100 * 100];
  return suite::verdict(is_right);
}
