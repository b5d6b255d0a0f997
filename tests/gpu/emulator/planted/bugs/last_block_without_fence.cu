// The last block to finish adds up what the others wrote; without __threadfence() their writes may not have arrived.
#include "../suite.cuh"

__global__ void total(const float* in, float* parts, unsigned* finished, float* out) {
  __shared__ bool is_last;
  float sum = 0;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 32; ++i) sum += in[blockIdx.x * 32 + i];
    parts[blockIdx.x] = sum;  // BUG: race
    is_last = atomicAdd(finished, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    float all = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) all += parts[i];
    *out = all;
  }
}

int main() {
  suite::Array<float> in(suite::pattern<float>(128)), parts(4), out(1);
  suite::Array<unsigned> finished(1);
  finished.clear();
  total<<<4, 32>>>(in.get(), parts.get(), finished.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[0] > 0);
}
