// Barriers that also count and vote.
#include "../suite.cuh"

__global__ void votes(const int* in, int* out) {
  const int value = in[threadIdx.x];
  const int count = __syncthreads_count(value > 5);
  const int any = __syncthreads_or(value == 10);
  const int all = __syncthreads_and(value >= 0);
  if (threadIdx.x == 0) {
    out[0] = count;
    out[1] = any != 0;
    out[2] = all != 0;
  }
}

int main() {
  const auto values = suite::pattern<int>(80);
  suite::Array<int> in(values), out(3);
  votes<<<1, 80>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  int count = 0;
  for (const int value : values) count += value > 5;
  return suite::verdict(out.host() == std::vector<int>{count, 1, 1});
}
