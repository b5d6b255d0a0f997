// Layer norm, rung 2 of 3: a warp per row, its lanes side by side in the row.
//
// in [rows, columns] -> out [rows, columns]. 4 warps per block, one row each; any sizes.
// Removes: 28 of 32 sectors per request. Every warp reads weight and bias, from the cache.
// Pays: three reads of each value.
#include "../registry.hpp"
#include "../warp_sum.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::layer_norm {

namespace {

constexpr int kWarps = 4;

__global__ void warp_per_row_kernel(float* out, NormInput in) {
  const int lane = threadIdx.x, row = blockIdx.x * kWarps + threadIdx.y;
  if (row >= in.rows) return;
  const float* x = in.values + row * in.columns;
  float* y = out + row * in.columns;
  const auto columns = static_cast<float>(in.columns);

  float sum = 0;
  for (int i = lane; i < in.columns; i += kWarp) sum += x[i];
  const float mean = warp_sum(sum) / columns;
  float squares = 0;
  for (int i = lane; i < in.columns; i += kWarp) squares += (x[i] - mean) * (x[i] - mean);
  const float scale = rsqrtf(warp_sum(squares) / columns + kNormEpsilon);
  for (int i = lane; i < in.columns; i += kWarp) y[i] = (x[i] - mean) * scale * in.weight[i] + in.bias[i];
}

}  // namespace

void warp_per_row(float* out, NormInput in, cudaStream_t stream) {
  warp_per_row_kernel<<<pieces(in.rows, kWarps), dim3(kWarp, kWarps), 0, stream>>>(out, in);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::layer_norm
