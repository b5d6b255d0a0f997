// One warp multiplies two 16-row tiles on tensor cores; float fragments are packed to bfloat16 by cutting bits.
#include <cstdint>
#include <cstring>

#include "../suite.cuh"
#include "device/tensor_core.hpp"

__device__ std::uint32_t pack(float low, float high) {
  return (__float_as_uint(low) >> 16) | (__float_as_uint(high) & 0xffff0000U);
}

__global__ void multiply(const float* a, const float* b, float* d) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  std::uint32_t a_part[4], b_part[2];
  for (int i = 0; i < 4; ++i) {
    const float* from = a + (g + i % 2 * 8) * 16 + 2 * t + i / 2 * 8;
    a_part[i] = pack(from[0], from[1]);
  }
  for (int i = 0; i < 2; ++i) {
    const float* from = b + (2 * t + i * 8) * 8 + g;
    b_part[i] = pack(from[0], from[8]);
  }
  const float zero[4] = {0, 0, 0, 0};
  float sums[4];
  lockstep::device::mma_m16n8k16_bf16(sums, a_part, b_part, zero);
  for (int i = 0; i < 4; ++i) d[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = sums[i];
}

int main() {
  const auto values = suite::pattern<float>(16 * 16);
  suite::Array<float> a(values), b(values), d(16 * 8);
  multiply<<<1, 32>>>(a.get(), b.get(), d.get());
  CHECK(cudaGetLastError());
  const auto result = d.host();
  bool is_right = true;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      float sum = 0;
      for (int k = 0; k < 16; ++k) sum += values[row * 16 + k] * values[k * 8 + column];
      is_right = is_right && result[row * 8 + column] == sum;
    }
  }
  return suite::verdict(is_right);
}
