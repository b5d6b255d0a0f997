// Every thread one element; the guard stops those of the last, partly filled block.
#include "../suite.cuh"

__global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  const int n = 1000;
  const auto values = suite::pattern<float>(n);
  suite::Array<float> a(values), b(values), c(n);
  add<<<(n + 255) / 256, 256>>>(a.get(), b.get(), c.get(), n);
  CHECK(cudaGetLastError());
  const auto result = c.host();
  bool is_right = true;
  for (int i = 0; i < n; ++i) is_right = is_right && result[i] == 2 * values[i];
  return suite::verdict(is_right);
}
