// An atomic maximum of floats, made of compare-and-swap.
#include "../suite.cuh"

__device__ void atomic_max(float* address, float value) {
  int* bits = reinterpret_cast<int*>(address);
  int seen = atomicAdd(bits, 0);
  while (__int_as_float(seen) < value) {
    const int before = atomicCAS(bits, seen, __float_as_int(value));
    if (before == seen) return;
    seen = before;
  }
}

__global__ void maximum(const float* in, int n, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomic_max(out, in[i]);
}

int main() {
  suite::Array<float> in(suite::pattern<float>(100)), out(std::vector<float>{-1});
  maximum<<<2, 64>>>(in.get(), 100, out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[0] == 10);
}
