// Two stages: the next tile is on its way while this one is used; wait, meet, use, meet.
#include "../suite.cuh"
#include "device/tensor_core.hpp"

__device__ void start_copy(float* tile, const float* in) {
  lockstep::device::cp_async16(tile + 4 * threadIdx.x, in + 4 * threadIdx.x);
  lockstep::device::cp_async_commit();
}

__global__ void reverse_tiles(const float* in, float* out, int tiles) {
  __shared__ alignas(16) float buffer[2][128];
  start_copy(buffer[0], in);
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) {
      start_copy(buffer[(tile + 1) % 2], in + (tile + 1) * 128);
      lockstep::device::cp_async_wait<1>();
    } else {
      lockstep::device::cp_async_wait<0>();
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 128; i += 32) out[tile * 128 + i] = buffer[tile % 2][127 - i];
    __syncthreads();
  }
}

int main() {
  const int tiles = 5;
  const auto values = suite::pattern<float>(128 * tiles);
  suite::Array<float> in(values), out(128 * tiles);
  reverse_tiles<<<1, 32>>>(in.get(), out.get(), tiles);
  CHECK(cudaGetLastError());
  const auto result = out.host();
  bool is_right = true;
  for (int i = 0; i < 128 * tiles; ++i) is_right = is_right && result[i] == values[i / 128 * 128 + 127 - i % 128];
  return suite::verdict(is_right);
}
