// Two arrays of different types share the block's dynamic memory; the byte count covers both.
#include "../suite.cuh"

__global__ void sort_by_counting(const int* in, int n, int* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* values = reinterpret_cast<int*>(raw);
  short* places = reinterpret_cast<short*>(values + n);
  const int i = threadIdx.x;
  values[i] = in[i];
  __syncthreads();
  short place = 0;
  for (int k = 0; k < n; ++k) place += values[k] < values[i] || (values[k] == values[i] && k < i);
  places[i] = place;
  __syncthreads();
  out[places[i]] = values[i];
}

int main() {
  const int n = 90;
  suite::Array<int> in(suite::pattern<int>(n)), out(n);
  sort_by_counting<<<1, n, n*(sizeof(int) + sizeof(short))>>>(in.get(), n, out.get());
  CHECK(cudaGetLastError());
  const auto result = out.host();
  bool is_right = true;
  for (int i = 1; i < n; ++i) is_right = is_right && result[i - 1] <= result[i];
  return suite::verdict(is_right);
}
