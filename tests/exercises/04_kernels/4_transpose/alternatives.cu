#include "04_kernels/4_transpose/transpose.hpp"
#include "exercise/alternatives.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"swizzled", "no padding: the column of the tile is exchanged with its row by exclusive or"},
    {"stored_transposed", "the tile is written by columns and read by rows"},
    {"two_blocks", "two blocks go through all tiles in turns"},
    {"shuffles", "a warp for each tile, transposed in registers by five rounds of shuffles: no shared memory"},
    {"narrow_tiles", "tiles of 32 rows and 8 columns: whole sectors on both sides"},
    {"dynamic_shared", "the tile is dynamic shared memory; blocks of 32 x 16 threads"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

using exercise::is_alternative;

namespace {

constexpr int kTile = 32;

__global__ void swizzled_kernel(float* out, const float* in, int rows, int columns) {
  __shared__ float tile[kTile][kTile];
  const int row = blockIdx.y * kTile, column = blockIdx.x * kTile, x = threadIdx.x;
  for (int y = threadIdx.y; y < kTile; y += blockDim.y)
    if (row + y < rows && column + x < columns) tile[y][x ^ y] = in[(row + y) * columns + column + x];
  __syncthreads();
  for (int y = threadIdx.y; y < kTile; y += blockDim.y)
    if (column + y < columns && row + x < rows) out[(column + y) * rows + row + x] = tile[x][y ^ x];
}

__global__ void stored_transposed_kernel(float* out, const float* in, int rows, int columns) {
  __shared__ float tile[kTile][kTile + 1];
  const int row = blockIdx.y * kTile, column = blockIdx.x * kTile, x = threadIdx.x;
  for (int y = threadIdx.y; y < kTile; y += blockDim.y)
    if (row + y < rows && column + x < columns) tile[x][y] = in[(row + y) * columns + column + x];
  __syncthreads();
  for (int y = threadIdx.y; y < kTile; y += blockDim.y)
    if (column + y < columns && row + x < rows) out[(column + y) * rows + row + x] = tile[y][x];
}

__global__ void two_blocks_kernel(float* out, const float* in, int rows, int columns) {
  __shared__ float tile[kTile][kTile + 1];
  const int across = (columns + kTile - 1) / kTile, down = (rows + kTile - 1) / kTile, x = threadIdx.x;
  for (int t = blockIdx.x; t < across * down; t += gridDim.x) {
    const int row = t / across * kTile, column = t % across * kTile;
    for (int y = threadIdx.y; y < kTile; y += blockDim.y)
      if (row + y < rows && column + x < columns) tile[y][x] = in[(row + y) * columns + column + x];
    __syncthreads();
    for (int y = threadIdx.y; y < kTile; y += blockDim.y)
      if (column + y < columns && row + x < rows) out[(column + y) * rows + row + x] = tile[x][y];
    __syncthreads();
  }
}

// In the round of a bit, the lanes that differ in it exchange one of two registers whose numbers differ in it.
__global__ void shuffles_kernel(float* out, const float* in, int rows, int columns) {
  const int lane = threadIdx.x, row = blockIdx.y * kTile, column = blockIdx.x * kTile;
  float values[kTile];
  for (int y = 0; y < kTile; ++y)
    values[y] = row + y < rows && column + lane < columns ? in[(row + y) * columns + column + lane] : 0.0F;
  for (int bit = kTile / 2; bit > 0; bit /= 2) {
    const bool is_upper = (lane & bit) != 0;
    for (int y = 0; y < kTile; ++y) {
      if ((y & bit) != 0) continue;
      const float got = __shfl_xor_sync(0xffffffffU, is_upper ? values[y] : values[y + bit], bit);
      if (is_upper) {
        values[y] = got;
      } else {
        values[y + bit] = got;
      }
    }
  }
  for (int y = 0; y < kTile; ++y)
    if (column + y < columns && row + lane < rows) out[(column + y) * rows + row + lane] = values[y];
}

__global__ void narrow_tiles_kernel(float* out, const float* in, int rows, int columns) {
  __shared__ float tile[8][36];  // 4 rows and 8 columns at a time: 32 banks
  const int row = blockIdx.y * 32, column = blockIdx.x * 8, thread = threadIdx.y * 32 + threadIdx.x;
  if (row + thread / 8 < rows && column + thread % 8 < columns)
    tile[thread % 8][thread / 8] = in[(row + thread / 8) * columns + column + thread % 8];
  __syncthreads();
  if (column + thread / 32 < columns && row + thread % 32 < rows)
    out[(column + thread / 32) * rows + row + thread % 32] = tile[thread / 32][thread % 32];
}

__global__ void dynamic_shared_kernel(float* out, const float* in, int rows, int columns) {
  extern __shared__ float words[];
  const int row = blockIdx.y * kTile, column = blockIdx.x * kTile, x = threadIdx.x;
  for (int y = threadIdx.y; y < kTile; y += blockDim.y)
    if (row + y < rows && column + x < columns) words[y * (kTile + 1) + x] = in[(row + y) * columns + column + x];
  __syncthreads();
  for (int y = threadIdx.y; y < kTile; y += blockDim.y)
    if (column + y < columns && row + x < rows) out[(column + y) * rows + row + x] = words[x * (kTile + 1) + y];
}

}  // namespace

void transpose(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const unsigned down = (rows + kTile - 1) / kTile, across = (columns + kTile - 1) / kTile;
  const dim3 tiles(across, down), threads(kTile, 8);
  if (is_alternative("swizzled")) swizzled_kernel<<<tiles, threads, 0, stream>>>(out, in, rows, columns);
  if (is_alternative("stored_transposed"))
    stored_transposed_kernel<<<tiles, threads, 0, stream>>>(out, in, rows, columns);
  if (is_alternative("two_blocks")) two_blocks_kernel<<<2, threads, 0, stream>>>(out, in, rows, columns);
  if (is_alternative("shuffles")) shuffles_kernel<<<tiles, kTile, 0, stream>>>(out, in, rows, columns);
  if (is_alternative("narrow_tiles"))
    narrow_tiles_kernel<<<dim3((columns + 7) / 8, down), threads, 0, stream>>>(out, in, rows, columns);
  if (is_alternative("dynamic_shared")) {
    constexpr std::size_t kBytes = kTile * (kTile + 1) * sizeof(float);
    dynamic_shared_kernel<<<tiles, dim3(kTile, 16), kBytes, stream>>>(out, in, rows, columns);
  }
}

}  // namespace lockstep::kernels
