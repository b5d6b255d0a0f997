// A value is broadcast through one shared variable twice; nothing keeps the second write after the first read.
#include "../suite.cuh"

__device__ float broadcast(float value) {
  __shared__ float box;
  if (threadIdx.x == 0) box = value;  // BUG: race
  __syncthreads();
  return box;
}

__global__ void two_values(const float* in, float* out) {
  const float first = broadcast(in[0]);
  const float second = broadcast(in[1]);
  out[threadIdx.x] = first + second;
}

int main() {
  suite::Array<float> in(suite::pattern<float>(2)), out(64);
  two_values<<<1, 64>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[63] == 13);
}
