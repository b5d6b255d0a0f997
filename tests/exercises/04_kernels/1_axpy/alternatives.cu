#include "04_kernels/1_axpy/axpy.hpp"
#include "exercise/alternatives.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"grid_stride", "three blocks, whatever the size; each thread takes several elements"},
    {"four_elements", "each thread takes four elements, a block apart"},
    {"rows_of_warps", "two-dimensional blocks of 8 warps"},
    {"float4", "four floats with each access, the rest one at a time"},
    {"from_the_end", "the first thread takes the last element; blocks of one warp"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

using exercise::is_alternative;

namespace {

__global__ void grid_stride_kernel(float* y, float a, const float* x, int count) {
  const int step = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) y[i] = fmaf(a, x[i], y[i]);
}

__global__ void four_elements_kernel(float* y, float a, const float* x, int count) {
  const int first = blockIdx.x * 4 * blockDim.x + threadIdx.x;
  for (int k = 0; k < 4; ++k) {
    const int i = first + k * blockDim.x;
    if (i < count) y[i] += a * x[i];
  }
}

__global__ void rows_of_warps_kernel(float* y, float a, const float* x, int count) {
  const int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  y[i] += a * x[i];
}

__global__ void float4_kernel(float* y, float a, const float* x, int count) {
  const int threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x, groups = count / 4;
  auto* const y4 = reinterpret_cast<float4*>(y);
  const auto* const x4 = reinterpret_cast<const float4*>(x);
  for (int i = thread; i < groups; i += threads) {
    const float4 from = x4[i], to = y4[i];
    y4[i] = make_float4(to.x + a * from.x, to.y + a * from.y, to.z + a * from.z, to.w + a * from.w);
  }
  for (int i = 4 * groups + thread; i < count; i += threads) y[i] += a * x[i];
}

__global__ void from_the_end_kernel(float* y, float a, const float* x, int count) {
  const int i = count - 1 - static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= 0) y[i] += a * x[i];
}

int blocks_for(int count, int elements_of_block) { return (count + elements_of_block - 1) / elements_of_block; }

}  // namespace

void axpy(float* y, float a, const float* x, int count, cudaStream_t stream) {
  if (count == 0) return;
  if (is_alternative("grid_stride")) grid_stride_kernel<<<3, 256, 0, stream>>>(y, a, x, count);
  if (is_alternative("four_elements"))
    four_elements_kernel<<<blocks_for(count, 1024), 256, 0, stream>>>(y, a, x, count);
  if (is_alternative("rows_of_warps"))
    rows_of_warps_kernel<<<count / 256 + 1, dim3(32, 8), 0, stream>>>(y, a, x, count);
  if (is_alternative("float4")) float4_kernel<<<blocks_for(count, 1024), 256, 0, stream>>>(y, a, x, count);
  if (is_alternative("from_the_end")) from_the_end_kernel<<<blocks_for(count, 32), 32, 0, stream>>>(y, a, x, count);
}

}  // namespace lockstep::kernels
