// One kernel fills the rows, the next also reads the padding between them.
#include "../suite.cuh"

constexpr int kRows = 4, kColumns = 30, kPitch = 32;

__global__ void fill(float* matrix) {
  if (threadIdx.x < kColumns) matrix[blockIdx.x * kPitch + threadIdx.x] = 1;
}

__global__ void row_sums(const float* matrix, float* sums) {
  float value = matrix[blockIdx.x * kPitch + threadIdx.x];  // BUG: uninitialised read
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffffU, value, distance);
  if (threadIdx.x == 0) sums[blockIdx.x] = value;
}

int main() {
  suite::Array<float> matrix(kRows * kPitch), sums(kRows);
  fill<<<kRows, 32>>>(matrix.get());
  row_sums<<<kRows, 32>>>(matrix.get(), sums.get());
  CHECK(cudaGetLastError());
  return suite::verdict(sums.host()[0] >= kColumns);
}
