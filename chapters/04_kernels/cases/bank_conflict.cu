// A bank conflict: the lanes of a warp read words of shared memory that are 32 apart.
//
// Nothing is wrong with the result. All 32 words lie in one of the 32 banks, which hands out one word at a time.
// The cure: rows of 33 words (change kRow to kTile + 1), or words that change places within their row.
#include <cuda_runtime.h>

#include <cstdio>

constexpr int kTile = 32, kRow = kTile;

__global__ void transpose_tile(float* values) {
  __shared__ float tile[kTile][kRow];
  const int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = values[y * kTile + x];
  __syncthreads();
  values[y * kTile + x] = tile[x][y];
}

int main() {
  float host[kTile * kTile], *values = nullptr;
  for (int i = 0; i < kTile * kTile; ++i) host[i] = static_cast<float>(i);
  cudaMalloc(&values, sizeof(host));
  cudaMemcpy(values, host, sizeof(host), cudaMemcpyHostToDevice);
  transpose_tile<<<1, dim3(kTile, kTile)>>>(values);
  cudaMemcpy(host, values, sizeof(host), cudaMemcpyDeviceToHost);
  std::printf("row 0 begins %g %g %g\n", host[0], host[1], host[2]);
  cudaFree(values);
}
