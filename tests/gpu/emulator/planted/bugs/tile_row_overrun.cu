// The tile has as many rows as the block, but its halo needs two more.
#include "../suite.cuh"

__global__ void blur(const float* in, float* out) {
  __shared__ float tile[8][8];
  const int x = threadIdx.x, y = threadIdx.y;
  tile[y + 1][x] = in[y * 8 + x];  // BUG: access out of bounds
  __syncthreads();
  out[y * 8 + x] = tile[y + 1][x];  // BUG: access out of bounds
}

int main() {
  suite::Array<float> in(suite::pattern<float>(64)), out(64);
  blur<<<1, dim3(8, 8)>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[0] == in.host()[0]);
}
