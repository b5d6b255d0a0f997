// The last tile is only partly filled, but all of it is read.
#include "../suite.cuh"

__global__ void block_sums(const float* in, int n, float* out) {
  __shared__ float tile[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) tile[threadIdx.x] = in[i];
  __syncthreads();
  if (threadIdx.x > 0) return;
  float sum = 0;
  for (int k = 0; k < 64; ++k) sum += tile[k];  // BUG: uninitialised read
  out[blockIdx.x] = sum;
}

int main() {
  suite::Array<float> in(suite::pattern<float>(50)), out(1);
  block_sums<<<1, 64>>>(in.get(), 50, out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[0] > 0);
}
