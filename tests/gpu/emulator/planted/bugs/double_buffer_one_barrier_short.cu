// Two buffers take turns, but the barrier stands only in every second round.
#include "../suite.cuh"

__global__ void rotate(int* values, int rounds) {
  __shared__ int buffer[2][64];
  const int i = threadIdx.x;
  buffer[0][i] = values[i];
  __syncthreads();
  for (int round = 0; round < rounds; ++round) {
    buffer[(round + 1) % 2][i] = buffer[round % 2][(i + 1) % 64];  // BUG: race
    if (round % 2 == 0) __syncthreads();
  }
  values[i] = buffer[rounds % 2][i];
}

int main() {
  suite::Array<int> values(suite::pattern<int>(64));
  rotate<<<1, 64>>>(values.get(), 4);
  CHECK(cudaGetLastError());
  return suite::verdict(values.host()[0] >= 0);
}
