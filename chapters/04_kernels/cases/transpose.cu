// Transposes a matrix, [rows, columns] to [columns, rows]: each block transposes a tile in shared memory.
#include <cuda_runtime.h>

#include <cstdio>

constexpr int kTile = 32, kRow = kTile + 1;

__global__ void transpose(float* out, const float* in, int rows, int columns) {
  __shared__ float tile[kTile][kRow];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  if (row < rows && column < columns) tile[y][x] = in[row * columns + column];

  __syncthreads();

  const int out_row = blockIdx.x * kTile + y, out_column = blockIdx.y * kTile + x;
  if (out_row < columns && out_column < rows) out[out_row * rows + out_column] = tile[x][y];
}

int main() {
  constexpr int kRows = 48, kColumns = 40, kCount = kRows * kColumns;
  float host[kCount], *in = nullptr, *out = nullptr;
  for (int i = 0; i < kCount; ++i) host[i] = static_cast<float>(i);
  cudaMalloc(&in, sizeof(host));
  cudaMalloc(&out, sizeof(host));
  cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
  const dim3 blocks((kColumns + kTile - 1) / kTile, (kRows + kTile - 1) / kTile);
  transpose<<<blocks, dim3(kTile, kTile)>>>(out, in, kRows, kColumns);
  cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < kCount; ++i) {
    if (host[i] != static_cast<float>(i % kRows * kColumns + i / kRows)) ++wrong;
  }
  std::printf("row 0 begins %g %g %g; %d of %d elements are wrong\n", host[0], host[1], host[2], wrong, kCount);
  cudaFree(in);
  cudaFree(out);
}
