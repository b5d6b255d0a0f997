// The tree of a reduction needs a barrier in every round.
#include "../suite.cuh"

__global__ void sum(const float* in, float* out) {
  __shared__ float part[128];
  const unsigned i = threadIdx.x;
  part[i] = in[i];
  __syncthreads();
  for (unsigned stride = 64; stride > 0; stride /= 2) {
    if (i < stride) part[i] += part[i + stride];  // BUG: race
  }
  if (i == 0) *out = part[0];
}

int main() {
  suite::Array<float> in(suite::pattern<float>(128)), out(1);
  sum<<<1, 128>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[0] > 0);
}
