// The tail of a reduction within one warp, as it must be written since Volta: read, meet, write, meet.
#include "../suite.cuh"

__global__ void sum(const int* in, int* out) {
  __shared__ int part[64];
  const unsigned i = threadIdx.x;
  part[i] = in[i];
  __syncthreads();
  if (i >= 32) return;
  int value = part[i] + part[i + 32];
  for (int distance = 16; distance > 0; distance /= 2) {
    __syncwarp();
    part[i] = value;
    __syncwarp();
    value += part[(i + distance) % 32];
  }
  if (i == 0) *out = value;
}

int main() {
  const auto values = suite::pattern<int>(64);
  suite::Array<int> in(values), out(1);
  sum<<<1, 64>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  int expected = 0;
  for (const int value : values) expected += value;
  return suite::verdict(out.host()[0] == expected);
}
