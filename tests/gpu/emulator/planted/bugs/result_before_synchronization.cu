// An asynchronous copy has been asked for, not waited for.
#include "../suite.cuh"

__global__ void fill(float* out) { out[threadIdx.x] = 1; }

int main() {
  suite::Array<float> out(32);
  float* result = nullptr;
  cudaStream_t stream = nullptr;
  CHECK(cudaMallocHost(&result, 32 * sizeof(float)));
  CHECK(cudaStreamCreate(&stream));
  fill<<<1, 32, 0, stream>>>(out.get());
  CHECK(cudaMemcpyAsync(result, out.get(), 32 * sizeof(float), cudaMemcpyDeviceToHost, stream));
  const bool is_right = result[31] == 1;  // BUG: result used before it is synchronized
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFreeHost(result));
  return suite::verdict(is_right);
}
