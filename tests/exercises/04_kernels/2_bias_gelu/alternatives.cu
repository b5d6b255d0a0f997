#include "04_kernels/2_bias_gelu/bias_gelu.hpp"
#include "exercise/alternatives.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"rows_of_blocks", "a block takes whole rows, and its threads the groups of a row"},
    {"two_at_a_time", "two groups a turn, loaded before either is used; blocks of 512 threads"},
    {"kept_column", "two-dimensional blocks; the column is carried along instead of computed anew"},
    {"shares_of_blocks", "each block has a stretch of the matrix, whose groups its threads take in turns"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

using exercise::is_alternative;

namespace {

__device__ float gelu(float x) {
  constexpr float kRootOf2OverPi = 0.7978845608F;
  return 0.5F * x * (1.0F + tanhf(kRootOf2OverPi * (x + 0.044715F * x * x * x)));
}

__device__ float4 activated(float4 x, float4 b) {
  return make_float4(gelu(x.x + b.x), gelu(x.y + b.y), gelu(x.z + b.z), gelu(x.w + b.w));
}

__global__ void rows_of_blocks_kernel(float4* out, const float4* in, const float4* bias, int rows, int width) {
  for (int row = blockIdx.x; row < rows; row += gridDim.x)
    for (int c = threadIdx.x; c < width; c += blockDim.x)
      out[row * width + c] = activated(in[row * width + c], bias[c]);
}

__global__ void two_at_a_time_kernel(float4* out, const float4* in, const float4* bias, int rows, int width) {
  const int groups = rows * width, threads = gridDim.x * blockDim.x;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (; i + threads < groups; i += 2 * threads) {
    const float4 one = in[i], other = in[i + threads];
    out[i] = activated(one, bias[i % width]);
    out[i + threads] = activated(other, bias[(i + threads) % width]);
  }
  if (i < groups) out[i] = activated(in[i], bias[i % width]);
}

__global__ void kept_column_kernel(float4* out, const float4* in, const float4* bias, int rows, int width) {
  const int begin = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int step = gridDim.x * blockDim.x * blockDim.y;
  int column = begin % width;
  for (int i = begin; i < rows * width; i += step) {
    out[i] = activated(in[i], bias[column]);
    column = (column + step) % width;
  }
}

__global__ void shares_of_blocks_kernel(float4* out, const float4* in, const float4* bias, int rows, int width) {
  const int groups = rows * width, blocks = gridDim.x;
  const int share = ((groups + blocks - 1) / blocks + 31) / 32 * 32;  // whole warps
  const int begin = blockIdx.x * share, end = min(begin + share, groups);
  for (int i = begin + static_cast<int>(threadIdx.x); i < end; i += blockDim.x)
    out[i] = activated(in[i], bias[i % width]);
}

}  // namespace

void bias_gelu(float* out, const float* in, const float* bias, int rows, int columns, int blocks, cudaStream_t stream) {
  auto* const out4 = reinterpret_cast<float4*>(out);
  const auto* const in4 = reinterpret_cast<const float4*>(in);
  const auto* const bias4 = reinterpret_cast<const float4*>(bias);
  const int width = columns / 4;
  if (is_alternative("rows_of_blocks"))
    rows_of_blocks_kernel<<<blocks, 256, 0, stream>>>(out4, in4, bias4, rows, width);
  if (is_alternative("two_at_a_time")) two_at_a_time_kernel<<<blocks, 512, 0, stream>>>(out4, in4, bias4, rows, width);
  if (is_alternative("kept_column"))
    kept_column_kernel<<<blocks, dim3(32, 8), 0, stream>>>(out4, in4, bias4, rows, width);
  if (is_alternative("shares_of_blocks"))
    shares_of_blocks_kernel<<<blocks, 256, 0, stream>>>(out4, in4, bias4, rows, width);
}

}  // namespace lockstep::kernels
