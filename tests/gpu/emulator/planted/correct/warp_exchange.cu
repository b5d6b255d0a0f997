// Lanes pass values through shared memory; __syncwarp() orders them, before and after.
#include "../suite.cuh"

__global__ void rotate(int* values, int rounds) {
  __shared__ int slot[4][32];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int value = values[threadIdx.x];
  for (int round = 0; round < rounds; ++round) {
    slot[warp][lane] = value;
    __syncwarp();
    value = slot[warp][(lane + 1) % 32];
    __syncwarp();
  }
  values[threadIdx.x] = value;
}

int main() {
  const auto values = suite::pattern<int>(128);
  suite::Array<int> rotated(values);
  rotate<<<1, 128>>>(rotated.get(), 5);
  CHECK(cudaGetLastError());
  const auto result = rotated.host();
  bool is_right = true;
  for (int i = 0; i < 128; ++i) is_right = is_right && result[i] == values[i / 32 * 32 + (i + 5) % 32];
  return suite::verdict(is_right);
}
