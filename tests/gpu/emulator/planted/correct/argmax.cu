// Values and their indices are reduced together; ties go to the lower index.
#include "../suite.cuh"

struct Candidate {
  float value;
  int index;
};

__device__ Candidate better(Candidate a, Candidate b) {
  return a.value > b.value || (a.value == b.value && a.index < b.index) ? a : b;
}

__global__ void argmax(const float* in, int n, int* out) {
  __shared__ Candidate best[64];
  Candidate own{-INFINITY, n};
  for (int i = threadIdx.x; i < n; i += 64) own = better(own, {in[i], i});
  best[threadIdx.x] = own;
  __syncthreads();
  for (unsigned stride = 32; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) best[threadIdx.x] = better(best[threadIdx.x], best[threadIdx.x + stride]);
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = best[0].index;
}

int main() {
  const auto values = suite::pattern<float>(150);
  suite::Array<float> in(values);
  suite::Array<int> out(1);
  argmax<<<1, 64>>>(in.get(), 150, out.get());
  CHECK(cudaGetLastError());
  int expected = 0;
  for (int i = 0; i < 150; ++i) expected = values[i] > values[expected] ? i : expected;
  return suite::verdict(out.host()[0] == expected);
}
