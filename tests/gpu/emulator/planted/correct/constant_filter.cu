// The filter's weights lie in constant memory, set by the host.
#include "../suite.cuh"

__constant__ float weights[5];

__global__ void convolve(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < 5; ++k) {
    const int at = i + k - 2;
    if (at >= 0 && at < n) sum += weights[k] * in[at];
  }
  out[i] = sum;
}

int main() {
  const int n = 70;
  const float host_weights[5] = {1, 2, 3, 2, 1};
  const auto values = suite::pattern<float>(n);
  suite::Array<float> in(values), out(n);
  CHECK(cudaMemcpyToSymbol(weights, host_weights, sizeof(host_weights)));
  convolve<<<3, 32>>>(in.get(), out.get(), n);
  CHECK(cudaGetLastError());
  const auto result = out.host();
  bool is_right = true;
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int k = 0; k < 5; ++k) sum += i + k >= 2 && i + k - 2 < n ? host_weights[k] * values[i + k - 2] : 0;
    is_right = is_right && result[i] == sum;
  }
  return suite::verdict(is_right);
}
