// Arrays of a thread's own need no order between threads.
#include "../suite.cuh"

__global__ void medians(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 2 || i + 2 >= n) return;
  float window[5];
  for (int k = 0; k < 5; ++k) window[k] = in[i + k - 2];
  for (int a = 0; a < 5; ++a) {
    for (int b = a + 1; b < 5; ++b) {
      if (window[b] >= window[a]) continue;
      const float value = window[a];
      window[a] = window[b];
      window[b] = value;
    }
  }
  out[i] = window[2];
}

int main() {
  suite::Array<float> in(suite::pattern<float>(64)), out(64);
  out.clear();
  medians<<<2, 32>>>(in.get(), out.get(), 64);
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[2] == 6);
}
