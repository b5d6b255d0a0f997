// Hillis and Steele's scan with two buffers: one barrier in each round is enough.
#include "../suite.cuh"

__global__ void inclusive_scan(int* values) {
  extern __shared__ int buffer[];
  const int n = blockDim.x, i = threadIdx.x;
  int from = 0;
  buffer[i] = values[i];
  __syncthreads();
  for (int distance = 1; distance < n; distance *= 2) {
    const int left = i >= distance ? buffer[from * n + i - distance] : 0;
    buffer[(1 - from) * n + i] = buffer[from * n + i] + left;
    from = 1 - from;
    __syncthreads();
  }
  values[i] = buffer[from * n + i];
}

int main() {
  const auto values = suite::pattern<int>(96);
  suite::Array<int> scanned(values);
  inclusive_scan<<<1, 96, 2 * 96 * sizeof(int)>>>(scanned.get());
  CHECK(cudaGetLastError());
  const auto result = scanned.host();
  bool is_right = true;
  for (int i = 0, sum = 0; i < 96; ++i) is_right = is_right && result[i] == (sum += values[i]);
  return suite::verdict(is_right);
}
