#include "04_kernels/3_block_sum/block_sum.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"no_barrier", "there is no barrier between writing the warps' sums and reading them",
     "A warp may read before another one has written: __syncthreads() goes between the two."},
    {"no_second_barrier",
     "there is no barrier after the warps' sums are read, so the next call overwrites them too early",
     "All warps must have read the sums before any of them writes new ones: end with a __syncthreads()."},
    {"first_warp_only", "only the first warp computes the total; the other threads return something else",
     "Let every warp add up the warps' sums, or pass the total on through shared memory."},
    {"adds_unwritten_sums", "all 32 lanes read a warp's sum, although the block has fewer warps",
     "Lanes from blockDim.x / 32 on must take part in the shuffle with 0."},
    {"one_step_too_few", "the distances end at 2, so only half of the lanes are counted",
     "The last step adds the neighbour, at distance 1."},
    {"one_warp_alone", "each warp returns its own sum", "The warps' sums have to be added up, too."},
    {"barrier_in_branch", "a barrier is called by some of the block's threads only",
     "Move __syncthreads() out of the if: all threads of the block must reach it."},
    {"shared_tree", "the sum is a tree in shared memory, with a barrier for each level",
     "Within a warp use __shfl_xor_sync; only one value per warp has to go through shared memory."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

namespace {

using exercise::is_mistake;

constexpr int kWarp = 32, kMostWarps = 32;
constexpr unsigned kAllLanes = 0xffffffffU;

// Kernels cannot ask is_mistake(): they are told.
struct Faults {
  bool no_barrier, no_second_barrier, first_warp_only, adds_unwritten_sums, one_step_too_few, one_warp_alone,
      barrier_in_branch, shared_tree;
};

__device__ float warp_sum(float value, const Faults& faults) {
  const int last = faults.one_step_too_few ? 2 : 1;
  for (int distance = kWarp / 2; distance >= last; distance /= 2) value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}

// Any number of threads, by halves rounded up.
__device__ float tree_sum(float value) {
  __shared__ float partial[kWarp * kMostWarps];
  const int thread = threadIdx.x;
  partial[thread] = value;
  __syncthreads();
  for (int count = blockDim.x; count > 1;) {
    const int half = (count + 1) / 2;
    if (thread + half < count) partial[thread] += partial[thread + half];
    __syncthreads();
    count = half;
  }
  const float sum = partial[0];
  __syncthreads();
  return sum;
}

__device__ float block_sum(float value, const Faults& faults) {
  if (faults.shared_tree) return tree_sum(value);
  if (faults.one_warp_alone) return warp_sum(value, faults);
  __shared__ float of_warp[kMostWarps];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  value = warp_sum(value, faults);
  if (lane == 0) {
    of_warp[warp] = value;
    if (faults.barrier_in_branch) __syncthreads();
  }
  if (!faults.no_barrier && !faults.barrier_in_branch) __syncthreads();
  const float sum = warp_sum(faults.adds_unwritten_sums || lane < warps ? of_warp[lane] : 0.0F, faults);
  if (!faults.no_second_barrier) __syncthreads();
  return faults.first_warp_only && warp != 0 ? 0.0F : sum;
}

__global__ void row_moments_kernel(float* mean, float* variance, const float* in, int columns, Faults faults) {
  const float* const row = in + blockIdx.x * columns;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i];
  const float row_mean = block_sum(sum, faults) / static_cast<float>(columns);
  float squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) squares += (row[i] - row_mean) * (row[i] - row_mean);
  const float row_variance = block_sum(squares, faults) / static_cast<float>(columns);
  if (threadIdx.x != 0) return;
  mean[blockIdx.x] = row_mean;
  variance[blockIdx.x] = row_variance;
}

}  // namespace

void row_moments(float* mean, float* variance, const float* in, int rows, int columns, int threads,
                 cudaStream_t stream) {
  const Faults faults{is_mistake("no_barrier"),          is_mistake("no_second_barrier"), is_mistake("first_warp_only"),
                      is_mistake("adds_unwritten_sums"), is_mistake("one_step_too_few"),  is_mistake("one_warp_alone"),
                      is_mistake("barrier_in_branch"),   is_mistake("shared_tree")};
  row_moments_kernel<<<rows, threads, 0, stream>>>(mean, variance, in, columns, faults);
}

}  // namespace lockstep::kernels
