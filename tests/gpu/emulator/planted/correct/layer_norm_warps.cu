// A warp for each row, all by butterfly shuffles; warps beyond the last row return, whole.
#include "../suite.cuh"

__device__ float sum_of_warp(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffU, value, distance);
  return value;
}

__global__ void layer_norm(const float* in, float* out, int rows, int columns) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (int i = lane; i < columns; i += 32) sum += in[row * columns + i];
  const float mean = sum_of_warp(sum) / columns;
  float squares = 0;
  for (int i = lane; i < columns; i += 32) squares += (in[row * columns + i] - mean) * (in[row * columns + i] - mean);
  const float scale = rsqrtf(sum_of_warp(squares) / columns + 1e-5F);
  for (int i = lane; i < columns; i += 32) out[row * columns + i] = (in[row * columns + i] - mean) * scale;
}

int main() {
  const int rows = 5, columns = 50;
  const auto values = suite::pattern<float>(rows * columns);
  suite::Array<float> in(values), out(rows * columns);
  layer_norm<<<2, 128>>>(in.get(), out.get(), rows, columns);
  CHECK(cudaGetLastError());
  const auto result = out.host();
  bool is_right = true;
  for (int row = 0; row < rows; ++row) {
    double sum = 0, squares = 0;
    for (int i = 0; i < columns; ++i) sum += values[row * columns + i];
    for (int i = 0; i < columns; ++i) squares += std::pow(values[row * columns + i] - sum / columns, 2);
    const double scale = 1 / std::sqrt(squares / columns + 1e-5);
    for (int i = row * columns; i < (row + 1) * columns; ++i) {
      is_right = is_right && suite::is_close(result[i], (values[i] - sum / columns) * scale);
    }
  }
  return suite::verdict(is_right);
}
