// Threads beyond the end return, the others wait at the barrier for a full block.
#include "../suite.cuh"

__global__ void neighbours(const float* in, float* out, int n) {
  __shared__ float tile[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  tile[threadIdx.x] = in[i];
  __syncthreads();  // BUG: divergent barrier
  out[i] = threadIdx.x > 0 ? tile[threadIdx.x - 1] : 0;
}

int main() {
  suite::Array<float> in(suite::pattern<float>(100)), out(100);
  neighbours<<<2, 64>>>(in.get(), out.get(), 100);
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[1] == 3);
}
