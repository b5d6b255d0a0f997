// A block for each row: the maximum, the sum, the division, each behind a barrier; one array serves both reductions.
#include "../suite.cuh"

__global__ void softmax(const float* in, float* out, int columns) {
  __shared__ float part[64];
  const float* row = in + blockIdx.x * columns;
  float highest = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += 64) highest = fmaxf(highest, row[i]);
  part[threadIdx.x] = highest;
  __syncthreads();
  for (unsigned stride = 32; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + stride]);
    __syncthreads();
  }
  highest = part[0];
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += 64) sum += expf(row[i] - highest);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned stride = 32; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) part[threadIdx.x] += part[threadIdx.x + stride];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < columns; i += 64) out[blockIdx.x * columns + i] = expf(row[i] - highest) / part[0];
}

int main() {
  const int rows = 3, columns = 100;
  const auto values = suite::pattern<float>(rows * columns);
  suite::Array<float> in(values), out(rows * columns);
  softmax<<<rows, 64>>>(in.get(), out.get(), columns);
  CHECK(cudaGetLastError());
  const auto result = out.host();
  bool is_right = true;
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int i = 0; i < columns; ++i) sum += std::exp(values[row * columns + i]);
    for (int i = row * columns; i < (row + 1) * columns; ++i) {
      is_right = is_right && suite::is_close(result[i], std::exp(values[i]) / sum);
    }
  }
  return suite::verdict(is_right);
}
