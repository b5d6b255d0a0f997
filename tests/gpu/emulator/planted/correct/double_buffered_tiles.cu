// While one buffer is used the next tile is loaded into the other; one barrier in each round.
#include "../suite.cuh"

__global__ void tile_sums(const int* in, int tiles, int* out) {
  __shared__ int buffer[2][32];
  const int i = threadIdx.x;
  buffer[0][i] = in[i];
  __syncthreads();
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) buffer[(tile + 1) % 2][i] = in[(tile + 1) * 32 + i];
    if (i == 0) {
      int sum = 0;
      for (int k = 0; k < 32; ++k) sum += buffer[tile % 2][k];
      out[tile] = sum;
    }
    __syncthreads();
  }
}

int main() {
  const auto values = suite::pattern<int>(160);
  suite::Array<int> in(values), out(5);
  tile_sums<<<1, 32>>>(in.get(), 5, out.get());
  CHECK(cudaGetLastError());
  std::vector<int> expected(5);
  for (int i = 0; i < 160; ++i) expected[i / 32] += values[i];
  return suite::verdict(out.host() == expected);
}
