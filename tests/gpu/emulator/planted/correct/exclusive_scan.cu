// Blelloch's scan: up the tree, then down.
#include "../suite.cuh"

__global__ void exclusive_scan(const int* in, int* out) {
  __shared__ int tree[128];
  const int i = threadIdx.x;
  tree[2 * i] = in[2 * i];
  tree[2 * i + 1] = in[2 * i + 1];
  int offset = 1;
  for (int pairs = 64; pairs > 0; pairs /= 2, offset *= 2) {
    __syncthreads();
    if (i < pairs) tree[offset * (2 * i + 2) - 1] += tree[offset * (2 * i + 1) - 1];
  }
  __syncthreads();
  if (i == 0) tree[127] = 0;
  for (int pairs = 1; pairs < 128; pairs *= 2) {
    offset /= 2;
    __syncthreads();
    if (i < pairs) {
      const int left = offset * (2 * i + 1) - 1, right = offset * (2 * i + 2) - 1;
      const int value = tree[left];
      tree[left] = tree[right];
      tree[right] += value;
    }
  }
  __syncthreads();
  out[2 * i] = tree[2 * i];
  out[2 * i + 1] = tree[2 * i + 1];
}

int main() {
  const auto values = suite::pattern<int>(128);
  suite::Array<int> in(values), out(128);
  exclusive_scan<<<1, 64>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  const auto result = out.host();
  bool is_right = true;
  for (int i = 0, sum = 0; i < 128; sum += values[i], ++i) is_right = is_right && result[i] == sum;
  return suite::verdict(is_right);
}
