// Lab 2, B1: a block transposes a tile of 32 x 32 floats through shared memory.
//
// Change kRow, the number of words from one row of the tile to the next, and predict the bank passes of both lines.
#include <cuda_runtime.h>

#include <cstdio>

constexpr int kTile = 32;
constexpr int kRow = 32;

__global__ void transpose(float* out, const float* in) {
  __shared__ float tile[kTile][kRow];
  const int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[y * kTile + x];
  __syncthreads();
  out[y * kTile + x] = tile[x][y];
}

int main() {
  float host[kTile * kTile];
  for (int i = 0; i < kTile * kTile; ++i) host[i] = static_cast<float>(i);
  float *in = nullptr, *out = nullptr;
  cudaMalloc(&in, sizeof(host));
  cudaMalloc(&out, sizeof(host));
  cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
  transpose<<<1, dim3(kTile, kTile)>>>(out, in);
  cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
  std::printf("the first row is %g %g %g ... %g\n", host[0], host[1], host[2], host[kTile - 1]);
  cudaFree(out);
  cudaFree(in);
}
