#include <utility>

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
    {"first_warp_only", "only the first warp computes the total; the other threads return their own warp's sum",
     "Let every warp add up the warps' sums, or pass the total on through shared memory."},
    {"first_warp_only_others_0", "only the first warp computes the total; the other threads return 0",
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
    {"atomic_by_every_thread", "every thread adds its own value to one total in shared memory by an atomic addition",
     "The additions to one address queue up. Add up within each warp by shuffles first."},
    {"serial_sum", "every thread writes its value to shared memory, and one thread, or each, adds all of them up",
     "Add up within each warp by shuffles first: then there are only blockDim.x / 32 values to read."},
    {"shuffles_down", "__shfl_down_sync leaves the sum in lane 0 alone; the other lanes have parts of it",
     "With __shfl_xor_sync all lanes get the sum; or pass lane 0's on with __shfl_sync(kAllLanes, value, 0)."},
    {"every_lane_writes", "all 32 lanes of a warp write the warp's sum to the same place",
     "All lanes have the same sum: let lane 0 write it."},
    {"total_cleared_too_early", "the total is cleared for the second call while threads still read that of the first",
     "Between reading the total and clearing it again there has to be a barrier."},
    {"shuffle_in_branch", "only the lanes that have a warp's sum call the last shuffles, whose mask names all 32",
     "Let all lanes of the warp take part, those without a sum with 0."},
    {"distance_of_a_warp", "the distances begin at 32, so the first shuffle adds each lane's value to itself",
     "Lane numbers differ by at most 31: begin at 16."},
    {"rows_and_threads_swapped",
     "the launch has as many blocks as there should be threads, and as many threads as rows",
     "<<<rows, threads, 0, stream>>>: the number of blocks comes first."},
    {"own_block_size", "the launch has a block size of its own in place of `threads`",
     "The caller chooses the threads of a block: <<<rows, threads, 0, stream>>>."},
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
  bool no_barrier, no_second_barrier, first_warp_only, first_warp_only_others_0, adds_unwritten_sums, one_step_too_few,
      one_warp_alone, barrier_in_branch, shared_tree, atomic_by_every_thread, serial_sum, shuffles_down,
      every_lane_writes, total_cleared_too_early, shuffle_in_branch, distance_of_a_warp;
};

__device__ float warp_sum(float value, const Faults& faults) {
  const int first = faults.distance_of_a_warp ? kWarp : kWarp / 2, last = faults.one_step_too_few ? 2 : 1;
  for (int distance = first; distance >= last; distance /= 2) {
    value += faults.shuffles_down ? __shfl_down_sync(kAllLanes, value, distance)
                                  : __shfl_xor_sync(kAllLanes, value, distance);
  }
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

__device__ float atomic_sum(float value) {
  __shared__ float total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, value);
  __syncthreads();
  const float sum = total;
  __syncthreads();
  return sum;
}

__device__ float atomic_sum_of_warps(float value, const Faults& faults) {
  __shared__ float total;
  value = warp_sum(value, faults);
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  if (threadIdx.x % kWarp == 0) atomicAdd(&total, value);
  __syncthreads();
  return total;
}

__device__ float serial_sum(float value) {
  __shared__ float values[kWarp * kMostWarps];
  values[threadIdx.x] = value;
  __syncthreads();
  float sum = 0;
  for (unsigned i = 0; i < blockDim.x; ++i) sum += values[i];
  __syncthreads();
  return sum;
}

__device__ float branching_sum(float value, const Faults& faults) {
  __shared__ float of_warp[kMostWarps];
  const int warps = blockDim.x / kWarp;
  value = warp_sum(value, faults);
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < warps) {
    value = warp_sum(of_warp[threadIdx.x], faults);
    if (threadIdx.x == 0) of_warp[0] = value;
  }
  __syncthreads();
  const float sum = of_warp[0];
  __syncthreads();
  return sum;
}

__device__ float block_sum(float value, const Faults& faults) {
  if (faults.shared_tree) return tree_sum(value);
  if (faults.atomic_by_every_thread) return atomic_sum(value);
  if (faults.total_cleared_too_early) return atomic_sum_of_warps(value, faults);
  if (faults.serial_sum) return serial_sum(value);
  if (faults.shuffle_in_branch) return branching_sum(value, faults);
  if (faults.one_warp_alone) return warp_sum(value, faults);
  __shared__ float of_warp[kMostWarps];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  value = warp_sum(value, faults);
  if (lane == 0 || faults.every_lane_writes) {
    of_warp[warp] = value;
    if (faults.barrier_in_branch) __syncthreads();
  }
  if (!faults.no_barrier && !faults.barrier_in_branch) __syncthreads();
  const float sum = warp_sum(faults.adds_unwritten_sums || lane < warps ? of_warp[lane] : 0.0F, faults);
  if (!faults.no_second_barrier) __syncthreads();
  if (warp == 0) return sum;
  return faults.first_warp_only ? value : faults.first_warp_only_others_0 ? 0.0F : sum;
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
  const Faults faults{is_mistake("no_barrier"),          is_mistake("no_second_barrier"),
                      is_mistake("first_warp_only"),     is_mistake("first_warp_only_others_0"),
                      is_mistake("adds_unwritten_sums"), is_mistake("one_step_too_few"),
                      is_mistake("one_warp_alone"),      is_mistake("barrier_in_branch"),
                      is_mistake("shared_tree"),         is_mistake("atomic_by_every_thread"),
                      is_mistake("serial_sum"),          is_mistake("shuffles_down"),
                      is_mistake("every_lane_writes"),   is_mistake("total_cleared_too_early"),
                      is_mistake("shuffle_in_branch"),   is_mistake("distance_of_a_warp")};
  if (is_mistake("own_block_size")) threads = 256;
  if (is_mistake("rows_and_threads_swapped")) std::swap(rows, threads);
  row_moments_kernel<<<rows, threads, 0, stream>>>(mean, variance, in, columns, faults);
}

}  // namespace lockstep::kernels
