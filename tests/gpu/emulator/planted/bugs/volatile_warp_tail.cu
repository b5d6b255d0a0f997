// The classic unrolled tail of a reduction: volatile orders nothing between lanes.
#include "../suite.cuh"

__global__ void sum(const int* in, int* out) {
  __shared__ int part[64];
  const int i = threadIdx.x;
  part[i] = in[i];
  __syncthreads();
  if (i < 32) {
    volatile int* line = part;
    line[i] = line[i] + line[i + 32];
    line[i] = line[i] + line[i + 16];  // BUG: race
    line[i] = line[i] + line[i + 8];   // BUG: race
    line[i] = line[i] + line[i + 4];   // BUG: race
    line[i] = line[i] + line[i + 2];   // BUG: race
    line[i] = line[i] + line[i + 1];   // BUG: race
  }
  if (i == 0) *out = part[0];
}

int main() {
  suite::Array<int> in(std::vector<int>(64, 1)), out(1);
  sum<<<1, 64>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[0] > 0);
}
