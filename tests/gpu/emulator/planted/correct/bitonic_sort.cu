// Compare and exchange in shared memory: each pair belongs to one thread of a round.
#include "../suite.cuh"

__global__ void sort(int* values) {
  __shared__ int line[128];
  const unsigned i = threadIdx.x;
  line[i] = values[i];
  __syncthreads();
  for (unsigned length = 2; length <= 128; length *= 2) {
    for (unsigned distance = length / 2; distance > 0; distance /= 2) {
      const unsigned partner = i ^ distance;
      const bool is_ascending = (i & length) == 0;
      if (partner > i && (line[i] > line[partner]) == is_ascending) {
        const int value = line[i];
        line[i] = line[partner];
        line[partner] = value;
      }
      __syncthreads();
    }
  }
  values[i] = line[i];
}

int main() {
  suite::Array<int> values(suite::pattern<int>(128));
  sort<<<1, 128>>>(values.get());
  CHECK(cudaGetLastError());
  const auto result = values.host();
  bool is_right = true;
  for (int i = 1; i < 128; ++i) is_right = is_right && result[i - 1] <= result[i];
  return suite::verdict(is_right);
}
