// Asynchronous copies from and to pinned memory, waited for before the host looks.
#include "../suite.cuh"

__global__ void negate(float* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = -values[i];
}

int main() {
  const int n = 500;
  suite::Array<float> values(n);
  float* pinned = nullptr;
  cudaStream_t stream = nullptr;
  CHECK(cudaMallocHost(&pinned, n * sizeof(float)));
  CHECK(cudaStreamCreate(&stream));
  for (int i = 0; i < n; ++i) pinned[i] = static_cast<float>(i);
  CHECK(cudaMemcpyAsync(values.get(), pinned, n * sizeof(float), cudaMemcpyHostToDevice, stream));
  negate<<<4, 128, 0, stream>>>(values.get(), n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(pinned, values.get(), n * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  bool is_right = true;
  for (int i = 0; i < n; ++i) is_right = is_right && pinned[i] == static_cast<float>(-i);
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFreeHost(pinned));
  return suite::verdict(is_right);
}
