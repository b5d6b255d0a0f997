// A tile is loaded anew while slower threads still read the old one: the second barrier of the loop is missing.
#include "../suite.cuh"

constexpr int kTile = 8, kWidth = 32;

__global__ void multiply(const float* a, const float* b, float* c) {
  __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int begin = 0; begin < kWidth; begin += kTile) {
    a_tile[threadIdx.y][threadIdx.x] = a[row * kWidth + begin + threadIdx.x];       // BUG: race
    b_tile[threadIdx.y][threadIdx.x] = b[(begin + threadIdx.y) * kWidth + column];  // BUG: race
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x];
  }
  c[row * kWidth + column] = sum;
}

int main() {
  const auto values = suite::pattern<float>(kWidth * kWidth);
  suite::Array<float> a(values), b(values), c(kWidth * kWidth);
  multiply<<<dim3(4, 4), dim3(kTile, kTile)>>>(a.get(), b.get(), c.get());
  CHECK(cudaGetLastError());
  return suite::verdict(c.host()[0] > 0);
}
