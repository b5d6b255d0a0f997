// Fewer threads than elements: each takes every gridDim * blockDim-th.
#include "../suite.cuh"

__global__ void scale_and_add(float scale, const float* x, float* y, int n) {
  const int step = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) y[i] += scale * x[i];
}

int main() {
  const int n = 777;
  const auto values = suite::pattern<float>(n);
  suite::Array<float> x(values), y(values);
  scale_and_add<<<3, 32>>>(2, x.get(), y.get(), n);
  CHECK(cudaGetLastError());
  const auto result = y.host();
  bool is_right = true;
  for (int i = 0; i < n; ++i) is_right = is_right && result[i] == 3 * values[i];
  return suite::verdict(is_right);
}
