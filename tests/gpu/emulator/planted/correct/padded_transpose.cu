// One column of padding avoids bank conflicts; nobody reads it, so nobody needs to write it.
#include "../suite.cuh"

constexpr int kTile = 16, kRows = 4;

__global__ void transpose(const float* in, float* out, int width, int height) {
  __shared__ float tile[kTile][kTile + 1];
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int row = 0; row < kTile; row += kRows) {
    if (x < width && y + row < height) tile[threadIdx.y + row][threadIdx.x] = in[(y + row) * width + x];
  }
  __syncthreads();
  const int to_x = blockIdx.y * kTile + threadIdx.x, to_y = blockIdx.x * kTile + threadIdx.y;
  for (int row = 0; row < kTile; row += kRows) {
    if (to_x < height && to_y + row < width) out[(to_y + row) * height + to_x] = tile[threadIdx.x][threadIdx.y + row];
  }
}

int main() {
  const int width = 37, height = 21;
  const auto values = suite::pattern<float>(width * height);
  suite::Array<float> in(values), out(width * height);
  transpose<<<dim3(3, 2), dim3(kTile, kRows)>>>(in.get(), out.get(), width, height);
  CHECK(cudaGetLastError());
  const auto result = out.host();
  bool is_right = true;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) is_right = is_right && result[x * height + y] == values[y * width + x];
  }
  return suite::verdict(is_right);
}
