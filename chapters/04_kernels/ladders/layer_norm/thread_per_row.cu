// Layer norm, rung 1 of 3: a thread per row, three passes over it.
//
// in [rows, columns] -> out [rows, columns]: (x - mean) / sqrt(variance + 1e-5) * weight + bias, mean and variance of
// the row; weight and bias [columns]. 128 threads per block, any sizes.
// Traffic: 3 reads and 1 write of 4 bytes per value, uncoalesced: neighbouring lanes are in neighbouring rows.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::layer_norm {

namespace {

constexpr int kThreads = 128;

__global__ void thread_per_row_kernel(float* out, NormInput in) {
  const int row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= in.rows) return;
  const float* x = in.values + row * in.columns;
  float* y = out + row * in.columns;
  const auto columns = static_cast<float>(in.columns);

  float sum = 0;
  for (int i = 0; i < in.columns; ++i) sum += x[i];
  const float mean = sum / columns;
  float squares = 0;  // of the distances from the mean; the mean of x * x minus mean * mean would lose digits
  for (int i = 0; i < in.columns; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const float scale = rsqrtf(squares / columns + kNormEpsilon);
  for (int i = 0; i < in.columns; ++i) y[i] = (x[i] - mean) * scale * in.weight[i] + in.bias[i];
}

}  // namespace

void thread_per_row(float* out, NormInput in, cudaStream_t stream) {
  thread_per_row_kernel<<<pieces(in.rows, kThreads), kThreads, 0, stream>>>(out, in);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::layer_norm
