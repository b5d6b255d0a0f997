#include "04_kernels/6_online_softmax/online_softmax.hpp"
#include "exercise/alternatives.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"finite_base", "no early return: where all is minus infinity, the sum is relative to 0"},
    {"two_states", "two states a lane, for every other value, combined at the end; from the last value to the first"},
    {"maximum_first",
     "the lanes agree on the maximum, scale once, and then add up; the output is exp(x - maximum - log(sum))"},
    {"log_sum_exp", "the output is exp(x - l), where l = maximum + log(sum) is rounded to a float"},
    {"one_read", "a lane keeps its first 32 values in registers and reads them once"},
    {"down_and_broadcast", "__shfl_down_sync, then lane 0 tells the others; blocks of one warp"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

using exercise::is_alternative;

namespace {

constexpr int kWarp = 32, kKept = 32;
constexpr unsigned kAllLanes = 0xffffffffU;

enum class Way { kFiniteBase, kTwoStates, kMaximumFirst, kLogSumExp, kOneRead, kDown };

struct Running {
  float largest = -INFINITY;
  float sum = 0;

  __device__ void combine(Running other) {
    const float both = fmaxf(largest, other.largest), base = both == -INFINITY ? 0.0F : both;
    sum = sum * expf(largest - base) + other.sum * expf(other.largest - base);
    largest = both;
  }
  __device__ void add(float x) { combine({x, 1}); }
  __device__ Running of_lane_at(int distance) const {
    return {__shfl_xor_sync(kAllLanes, largest, distance), __shfl_xor_sync(kAllLanes, sum, distance)};
  }
};

// The lane's share of the row; the first kKept values are also kept.
__device__ Running share_of_lane(const float* x, int lane, int columns, Way way, float (&kept)[kKept]) {
  Running own, other;
  if (way == Way::kTwoStates) {
    int i = (columns - 1) / kWarp * kWarp + lane;
    for (bool is_odd = false; i >= 0; i -= kWarp, is_odd = !is_odd)
      if (i < columns) (is_odd ? own : other).add(x[i]);
    own.combine(other);
    return own;
  }
  for (int k = 0; lane + k * kWarp < columns; ++k) {
    const float value = x[lane + k * kWarp];
    if (k < kKept) kept[k] = value;
    own.add(value);
  }
  return own;
}

__device__ Running result_of_row(Running own, Way way) {
  if (way == Way::kDown) {
    for (int distance = kWarp / 2; distance > 0; distance /= 2)
      own.combine({__shfl_down_sync(kAllLanes, own.largest, distance), __shfl_down_sync(kAllLanes, own.sum, distance)});
    return {__shfl_sync(kAllLanes, own.largest, 0), __shfl_sync(kAllLanes, own.sum, 0)};
  }
  if (way == Way::kMaximumFirst) {
    Running row = own;
    for (int distance = 1; distance < kWarp; distance *= 2)
      row.largest = fmaxf(row.largest, __shfl_xor_sync(kAllLanes, row.largest, distance));
    row.sum = own.sum * expf(own.largest - row.largest);
    for (int distance = 1; distance < kWarp; distance *= 2) row.sum += __shfl_xor_sync(kAllLanes, row.sum, distance);
    return row;
  }
  for (int distance = kWarp / 2; distance > 0; distance /= 2) own.combine(own.of_lane_at(distance));
  return own;
}

__global__ void online_softmax_kernel(float* out, const float* in, int rows, int columns, Way way) {
  const int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const float* const x = in + row * columns;
  float* const y = out + row * columns;
  float kept[kKept];
  const Running result = result_of_row(share_of_lane(x, lane, columns, way, kept), way);
  const float log_of_sum = logf(result.sum), scale = 1 / result.sum;
  for (int k = 0; lane + k * kWarp < columns; ++k) {
    const int i = lane + k * kWarp;
    const float value = way == Way::kOneRead && k < kKept ? kept[k] : x[i];
    if (way == Way::kLogSumExp) {
      y[i] = expf(value - (result.largest + log_of_sum));
    } else if (way == Way::kMaximumFirst) {
      y[i] = expf(value - result.largest - log_of_sum);
    } else {
      y[i] = expf(value - result.largest) * scale;
    }
  }
}

}  // namespace

void online_softmax(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const Way way = is_alternative("finite_base")     ? Way::kFiniteBase
                  : is_alternative("two_states")    ? Way::kTwoStates
                  : is_alternative("maximum_first") ? Way::kMaximumFirst
                  : is_alternative("log_sum_exp")   ? Way::kLogSumExp
                  : is_alternative("one_read")      ? Way::kOneRead
                                                    : Way::kDown;
  const int rows_of_block = way == Way::kDown ? 1 : 4;
  const dim3 threads(kWarp, rows_of_block);
  online_softmax_kernel<<<(rows + rows_of_block - 1) / rows_of_block, threads, 0, stream>>>(out, in, rows, columns,
                                                                                            way);
}

}  // namespace lockstep::kernels
