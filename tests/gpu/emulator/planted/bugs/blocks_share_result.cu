// Every block adds to one sum without an atomic: only blocks race, threads of a block do not.
#include "../suite.cuh"

__global__ void total(const float* in, float* out) {
  __shared__ float part[32];
  part[threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x];
  __syncthreads();
  if (threadIdx.x > 0) return;
  float sum = 0;
  for (float value : part) sum += value;
  *out += sum;  // BUG: race
}

int main() {
  suite::Array<float> in(suite::pattern<float>(128)), out(1);
  out.clear();
  total<<<4, 32>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[0] > 0);
}
