// The tile has room for neighbours on both sides; the first threads load them.
#include "../suite.cuh"

constexpr int kRadius = 3, kBlock = 64;

__global__ void stencil(const int* in, int* out, int n) {
  __shared__ int tile[kBlock + 2 * kRadius];
  const int i = blockIdx.x * kBlock + threadIdx.x, at = threadIdx.x + kRadius;
  tile[at] = i < n ? in[i] : 0;
  if (threadIdx.x < kRadius) {
    const int left = i - kRadius, right = i + kBlock;
    tile[at - kRadius] = left >= 0 && left < n ? in[left] : 0;
    tile[at + kBlock] = right < n ? in[right] : 0;
  }
  __syncthreads();
  if (i >= n) return;
  int sum = 0;
  for (int offset = -kRadius; offset <= kRadius; ++offset) sum += tile[at + offset];
  out[i] = sum;
}

int main() {
  const int n = 150;
  const auto values = suite::pattern<int>(n);
  suite::Array<int> in(values), out(n);
  stencil<<<(n + kBlock - 1) / kBlock, kBlock>>>(in.get(), out.get(), n);
  CHECK(cudaGetLastError());
  const auto result = out.host();
  bool is_right = true;
  for (int i = 0; i < n; ++i) {
    int sum = 0;
    for (int k = i - kRadius; k <= i + kRadius; ++k) sum += k >= 0 && k < n ? values[k] : 0;
    is_right = is_right && result[i] == sum;
  }
  return suite::verdict(is_right);
}
