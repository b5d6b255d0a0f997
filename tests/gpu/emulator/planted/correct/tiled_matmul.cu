// Tiles in shared memory, both barriers, sizes that the tile does not divide.
#include "../suite.cuh"

constexpr int kTile = 8;

__global__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int begin = 0; begin < n; begin += kTile) {
    const int k_a = begin + threadIdx.x, k_b = begin + threadIdx.y;
    a_tile[threadIdx.y][threadIdx.x] = row < n && k_a < n ? a[row * n + k_a] : 0;
    b_tile[threadIdx.y][threadIdx.x] = k_b < n && column < n ? b[k_b * n + column] : 0;
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

int main() {
  const int n = 19;
  const auto values = suite::pattern<float>(n * n);
  suite::Array<float> a(values), b(values), c(n * n);
  const int blocks = (n + kTile - 1) / kTile;
  multiply<<<dim3(blocks, blocks), dim3(kTile, kTile)>>>(a.get(), b.get(), c.get(), n);
  CHECK(cudaGetLastError());
  const auto result = c.host();
  bool is_right = true;
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column) {
      float expected = 0;
      for (int k = 0; k < n; ++k) expected += values[row * n + k] * values[k * n + column];
      is_right = is_right && result[row * n + column] == expected;
    }
  }
  return suite::verdict(is_right);
}
