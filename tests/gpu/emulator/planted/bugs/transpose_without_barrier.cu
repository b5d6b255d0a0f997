// A tile is written by rows and read by columns: every element by another thread.
#include "../suite.cuh"

constexpr int kTile = 16;

__global__ void transpose(const float* in, float* out, int width) {
  __shared__ float tile[kTile][kTile + 1];
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * width + x];  // BUG: race
  const int to_x = blockIdx.y * kTile + threadIdx.x, to_y = blockIdx.x * kTile + threadIdx.y;
  out[to_y * width + to_x] = tile[threadIdx.x][threadIdx.y];  // ALSO: uninitialised read
}

int main() {
  suite::Array<float> in(suite::pattern<float>(32 * 32)), out(32 * 32);
  transpose<<<dim3(2, 2), dim3(kTile, kTile)>>>(in.get(), out.get(), 32);
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[1] == 3);
}
