// Hillis and Steele's scan in place: a round reads what the same round writes.
#include "../suite.cuh"

__global__ void scan(int* values) {
  __shared__ int part[64];
  const int i = threadIdx.x;
  part[i] = values[i];
  __syncthreads();
  for (int distance = 1; distance < 64; distance *= 2) {
    if (i >= distance) part[i] += part[i - distance];  // BUG: race
    __syncthreads();
  }
  values[i] = part[i];
}

int main() {
  suite::Array<int> values(std::vector<int>(64, 1));
  scan<<<1, 64>>>(values.get());
  CHECK(cudaGetLastError());
  return suite::verdict(values.host()[0] == 1);
}
