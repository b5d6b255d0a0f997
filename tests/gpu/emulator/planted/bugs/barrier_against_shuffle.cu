// One lane waits at the block's barrier, the others for that lane in a shuffle: nobody can go on.
#include "../suite.cuh"

__global__ void stuck(float* values) {
  float value = values[threadIdx.x];
  if (threadIdx.x == 0) {
    __syncthreads();  // BUG: deadlock
  } else {
    value += __shfl_down_sync(0xffffffffU, value, 1);  // BUG: deadlock
    __syncthreads();
  }
  values[threadIdx.x] = value;
}

int main() {
  suite::Array<float> values(suite::pattern<float>(32));
  stuck<<<1, 32>>>(values.get());
  return suite::verdict(cudaDeviceSynchronize() == cudaSuccess);
}
