// Softmax of five rows on one processor: one row after the other, one value
// after the other.
#include <cmath>
#include <cstdio>
#include <vector>

// out [rows, columns]: the exponential of each value of in, as a share of its
// row's sum. All are taken relative to the row's largest, so none overflows.
void softmax(float* out, const float* in, int rows, int columns) {
  for (int row = 0; row < rows; ++row) {
    const float* x = in + row * columns;
    float* y = out + row * columns;
    float largest = x[0];
    for (int i = 1; i < columns; ++i) largest = fmaxf(largest, x[i]);
    float sum = 0;
    for (int i = 0; i < columns; ++i) sum += expf(x[i] - largest);
    for (int i = 0; i < columns; ++i) y[i] = expf(x[i] - largest) / sum;
  }
}

int main() {
  constexpr int kRows = 5, kColumns = 4, kCount = kRows * kColumns;
  std::vector<float> in(kCount), out(kCount);
  for (int i = 0; i < kCount; ++i) in[i] = 0.5F * static_cast<float>(i % 7);

  softmax(out.data(), in.data(), kRows, kColumns);

  for (int i = 0; i < kCount; ++i) {
    std::printf("%.4f%s", out[i], i % kColumns == kColumns - 1 ? "\n" : " ");
  }
}
