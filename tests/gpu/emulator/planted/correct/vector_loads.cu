// float4 while four elements are left, single ones at the tail.
#include "../suite.cuh"

__global__ void copy(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i + 3 < n) {
    reinterpret_cast<float4*>(out)[i] = reinterpret_cast<const float4*>(in)[i];
  } else {
    for (int k = 4 * i; k < n; ++k) out[k] = in[k];
  }
}

int main() {
  const auto values = suite::pattern<float>(203);
  suite::Array<float> in(values), out(203);
  copy<<<2, 32>>>(in.get(), out.get(), 203);
  CHECK(cudaGetLastError());
  return suite::verdict(out.host() == values);
}
