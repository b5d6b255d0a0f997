// A second stream waits for an event of the first before it reads the first one's result.
#include "../suite.cuh"

__global__ void fill(float* out) { out[threadIdx.x] = threadIdx.x; }
__global__ void twice(const float* in, float* out) { out[threadIdx.x] = 2 * in[threadIdx.x]; }

int main() {
  suite::Array<float> first(64), second(64);
  cudaStream_t one = nullptr, two = nullptr;
  cudaEvent_t is_filled = nullptr;
  CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&is_filled, cudaEventDisableTiming));
  fill<<<1, 64, 0, one>>>(first.get());
  CHECK(cudaEventRecord(is_filled, one));
  CHECK(cudaStreamWaitEvent(two, is_filled, 0));
  twice<<<1, 64, 0, two>>>(first.get(), second.get());
  CHECK(cudaStreamSynchronize(two));
  CHECK(cudaEventDestroy(is_filled));
  CHECK(cudaStreamDestroy(one));
  CHECK(cudaStreamDestroy(two));
  return suite::verdict(second.host()[63] == 126);
}
