// The halves of a warp reduce different rows, each under its own mask, one of them longer than the other.
#include "../suite.cuh"

__global__ void row_sums(const float* in, const int* lengths, float* out) {
  const unsigned half = threadIdx.x / 16, lane = threadIdx.x % 16;
  const unsigned mask = half == 0 ? 0x0000ffffU : 0xffff0000U;
  float sum = 0;
  for (int begin = 0; begin < lengths[half]; begin += 16) {
    float value = begin + static_cast<int>(lane) < lengths[half] ? in[half * 64 + begin + lane] : 0;
    for (int distance = 8; distance > 0; distance /= 2) value += __shfl_down_sync(mask, value, distance, 16);
    sum += value;
  }
  if (lane == 0) out[half] = sum;
}

int main() {
  const auto values = suite::pattern<float>(128);
  suite::Array<float> in(values), out(2);
  suite::Array<int> lengths(std::vector<int>{60, 17});
  row_sums<<<1, 32>>>(in.get(), lengths.get(), out.get());
  CHECK(cudaGetLastError());
  float first = 0, second = 0;
  for (int i = 0; i < 60; ++i) first += values[i];
  for (int i = 64; i < 81; ++i) second += values[i];
  const auto result = out.host();
  return suite::verdict(result[0] == first && result[1] == second);
}
