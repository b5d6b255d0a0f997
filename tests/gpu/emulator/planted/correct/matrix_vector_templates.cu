// A template whose arguments are deduced at the launch, and one whose tile width is given.
#include "../suite.cuh"

template <typename T>
__global__ void multiply(const T* matrix, const T* x, T* y, int columns) {
  T sum = 0;
  for (int i = threadIdx.x; i < columns; i += 32) sum += matrix[blockIdx.x * columns + i] * x[i];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, distance);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

template <int kBlock, typename T>
__global__ void scale(T* values, T factor, int n) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n) values[i] *= factor;
}

template <typename T>
bool is_right() {
  const int rows = 6, columns = 45;
  const auto matrix = suite::pattern<T>(rows * columns), x = suite::pattern<T>(columns);
  suite::Array<T> on_device(matrix), x_on_device(x), y(rows);
  multiply<<<rows, 32>>>(on_device.get(), x_on_device.get(), y.get(), columns);
  scale<4><<<2, 4>>>(y.get(), static_cast<T>(2), rows);
  CHECK(cudaGetLastError());
  const auto result = y.host();
  for (int row = 0; row < rows; ++row) {
    T sum = 0;
    for (int i = 0; i < columns; ++i) sum += matrix[row * columns + i] * x[i];
    if (result[row] != 2 * sum) return false;
  }
  return true;
}

int main() { return suite::verdict(is_right<float>() && is_right<double>() && is_right<int>()); }
