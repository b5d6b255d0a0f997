// Multiplies two square matrices: each block brings tiles of both into shared memory, one pair after the other.
#include <cuda_runtime.h>

#include <cstdio>

constexpr int kTile = 16;

__global__ void product(float* c, const float* a, const float* b, int size) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0;
  for (int begin = 0; begin < size; begin += kTile) {
    tile_a[y][x] = a[row * size + begin + x];
    tile_b[y][x] = b[(begin + y) * size + column];

    __syncthreads();

    for (int k = 0; k < kTile; ++k) {
      sum += tile_a[y][k] * tile_b[k][x];
    }

    __syncthreads();
  }
  c[row * size + column] = sum;
}

int main() {
  constexpr int kSize = 32, kCount = kSize * kSize;
  float host[kCount], *a = nullptr, *b = nullptr, *c = nullptr;
  for (int i = 0; i < kCount; ++i) host[i] = static_cast<float>(i % 3);
  cudaMalloc(&a, sizeof(host));
  cudaMalloc(&b, sizeof(host));
  cudaMalloc(&c, sizeof(host));
  cudaMemcpy(a, host, sizeof(host), cudaMemcpyHostToDevice);
  cudaMemcpy(b, host, sizeof(host), cudaMemcpyHostToDevice);
  product<<<dim3(kSize / kTile, kSize / kTile), dim3(kTile, kTile)>>>(c, a, b, kSize);
  cudaMemcpy(host, c, sizeof(host), cudaMemcpyDeviceToHost);
  std::printf("row 0 begins %g %g %g\n", host[0], host[1], host[2]);
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
}
