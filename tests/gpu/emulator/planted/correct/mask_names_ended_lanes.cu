// A mask may name lanes that have returned: only those still running must come to the call (CUDA C++ Programming Guide,
// "Warp Vote Functions").
#include "../suite.cuh"

__global__ void count_positive(const float* in, int n, unsigned* out) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const unsigned votes = __ballot_sync(0xffffffffU, in[i] > 0);
  if (i == 0) *out = votes;
}

int main() {
  suite::Array<float> in(suite::pattern<float>(20));
  suite::Array<unsigned> out(1);
  count_positive<<<1, 32>>>(in.get(), 20, out.get());
  CHECK(cudaGetLastError());
  unsigned expected = 0;
  const auto values = suite::pattern<float>(20);
  for (int i = 0; i < 20; ++i) expected |= (values[i] > 0 ? 1U : 0U) << i;
  return suite::verdict(out.host()[0] == expected);
}
