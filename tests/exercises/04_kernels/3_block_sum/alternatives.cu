#include "04_kernels/3_block_sum/block_sum.hpp"
#include "exercise/alternatives.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"loops_over_warps", "each thread adds up the warps' sums in a loop: no shuffles for those"},
    {"first_warp_passes_on", "the first warp alone adds up the warps' sums and passes the total on"},
    {"atomic_per_warp", "lane 0 of each warp adds the warp's sum to a total by an atomic addition"},
    {"down_and_broadcast", "__shfl_down_sync, then lane 0 tells the others"},
    {"cleared_places", "the places of warps that the block has not hold 0, so that all lanes may read"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

using exercise::is_alternative;

namespace {

constexpr int kWarp = 32, kMostWarps = 32;
constexpr unsigned kAllLanes = 0xffffffffU;

enum class Way { kLoop, kFirstWarp, kAtomic, kDown, kCleared };

__device__ float warp_sum(float value) {
  for (int distance = 1; distance < kWarp; distance *= 2) value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}

__device__ float warp_sum_down(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) value += __shfl_down_sync(kAllLanes, value, distance);
  return __shfl_sync(kAllLanes, value, 0);
}

__device__ float atomic_per_warp(float value) {
  __shared__ float total;
  value = warp_sum(value);
  __syncthreads();
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  if (threadIdx.x % kWarp == 0) atomicAdd(&total, value);
  __syncthreads();
  return total;
}

__device__ float block_sum(float value, Way way) {
  if (way == Way::kAtomic) return atomic_per_warp(value);
  __shared__ float of_warp[kMostWarps], total;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  if (way == Way::kCleared) {
    if (threadIdx.x < kMostWarps) of_warp[threadIdx.x] = 0;
    __syncthreads();
  }
  value = way == Way::kDown ? warp_sum_down(value) : warp_sum(value);
  if (lane == kWarp - 1) of_warp[warp] = value;
  __syncthreads();
  if (way == Way::kFirstWarp) {
    if (warp == 0) value = warp_sum(lane < warps ? of_warp[lane] : 0.0F);
    if (threadIdx.x == 0) total = value;
    __syncthreads();
    return total;
  }
  float sum = 0;
  if (way == Way::kLoop) {
    for (int w = 0; w < warps; ++w) sum += of_warp[w];
  } else if (way == Way::kDown) {
    sum = warp_sum_down(lane < warps ? of_warp[lane] : 0.0F);
  } else {
    sum = warp_sum(of_warp[lane]);
  }
  __syncthreads();
  return sum;
}

__global__ void row_moments_kernel(float* mean, float* variance, const float* in, int columns, Way way) {
  const float* const row = in + blockIdx.x * columns;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i];
  const float row_mean = block_sum(sum, way) / static_cast<float>(columns);
  float squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) squares += (row[i] - row_mean) * (row[i] - row_mean);
  const float row_variance = block_sum(squares, way) / static_cast<float>(columns);
  if (threadIdx.x != 0) return;
  mean[blockIdx.x] = row_mean;
  variance[blockIdx.x] = row_variance;
}

}  // namespace

void row_moments(float* mean, float* variance, const float* in, int rows, int columns, int threads,
                 cudaStream_t stream) {
  const Way way = is_alternative("loops_over_warps")       ? Way::kLoop
                  : is_alternative("first_warp_passes_on") ? Way::kFirstWarp
                  : is_alternative("atomic_per_warp")      ? Way::kAtomic
                  : is_alternative("down_and_broadcast")   ? Way::kDown
                                                           : Way::kCleared;
  row_moments_kernel<<<rows, threads, 0, stream>>>(mean, variance, in, columns, way);
}

}  // namespace lockstep::kernels
