// float4 needs an address that is a multiple of 16; the row begins 4 bytes further.
#include "../suite.cuh"

__global__ void load(const float* in, float4* out) {
  const float4* row = reinterpret_cast<const float4*>(in + 1);
  out[threadIdx.x] = row[threadIdx.x];  // BUG: misaligned access
}

int main() {
  suite::Array<float> in(suite::pattern<float>(132));
  suite::Array<float4> out(32);
  load<<<1, 32>>>(in.get(), out.get());
  return suite::verdict(cudaDeviceSynchronize() == cudaSuccess);
}
