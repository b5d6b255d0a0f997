// One stream brings data to the device, another takes it back; the second does not wait for the first.
#include "../suite.cuh"

int main() {
  const std::size_t bytes = 1024 * sizeof(float);
  suite::Array<float> values(1024);
  float* device = values.get();
  float *from = nullptr, *to = nullptr;
  cudaStream_t one = nullptr, two = nullptr;
  CHECK(cudaMallocHost(&from, bytes));
  CHECK(cudaMallocHost(&to, bytes));
  for (int i = 0; i < 1024; ++i) from[i] = static_cast<float>(i);
  CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  CHECK(cudaMemcpyAsync(device, from, bytes, cudaMemcpyDefault, one));
  CHECK(cudaMemcpyAsync(to, device, bytes, cudaMemcpyDefault, two));  // BUG: streams without order
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaStreamDestroy(one));
  CHECK(cudaStreamDestroy(two));
  CHECK(cudaFreeHost(from));
  CHECK(cudaFreeHost(to));
  return suite::verdict(true);
}
