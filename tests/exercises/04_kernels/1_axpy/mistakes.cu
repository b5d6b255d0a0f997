#include "04_kernels/1_axpy/axpy.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"no_guard", "the kernel does not compare its index with count, so surplus threads of the last block go on",
     "Let only threads with i < count access memory."},
    {"guard_includes_count", "the comparison with count admits i == count, one element too many",
     "The last element has the number count - 1."},
    {"ignores_block", "the index is threadIdx.x alone, so every block updates the first elements",
     "A block has its number, too: blockIdx.x, and blockDim.x threads come from each block before it."},
    {"rounds_blocks_down",
     "count / kThreads blocks are launched, so the elements of the last, partly filled block are "
     "never updated",
     "Round up: (count + kThreads - 1) / kThreads."},
    {"one_block", "only one block is launched", "One block has kThreads threads. How many blocks make count threads?"},
    {"replaces", "y is replaced by a x instead of being added to", "y[i] += ..."},
    {"strided",
     "neighbouring threads update elements that are far apart: the index grows by a whole row of threads "
     "from lane to lane",
     "i = blockIdx.x * blockDim.x + threadIdx.x"},
    {"blocks_and_threads_swapped",
     "the launch has kThreads blocks, and as many threads in each as there should be blocks",
     "<<<blocks, threads, 0, stream>>>: the number of blocks comes first."},
    {"steps_of_a_block", "a thread goes on blockDim.x elements further, where the next block's threads have begun",
     "Either each thread has one element, or the step is the number of all threads: gridDim.x * blockDim.x."},
    {"number_of_blocks_in_index", "the index is computed with gridDim.x, the number of blocks, in place of blockDim.x",
     "The blocks before this one have blockIdx.x * blockDim.x threads."},
    {"scales_y", "y is multiplied by a, and x is added", "y = a x + y."},
    {"guard_stops_short", "the comparison with count leaves out the last element", "Compare with i < count."},
    {"everybody_does_all", "each thread updates all elements, so every element is updated by all threads",
     "The loop over the elements is gone on a GPU: each thread has an element of its own."},
    {"consecutive_elements",
     "each thread updates a stretch of consecutive elements, so the lanes of a warp are far apart",
     "Neighbouring threads should have neighbouring elements: i = blockIdx.x * blockDim.x + threadIdx.x."},
    {"no_launch", "host code does the work: a loop, or the kernel called like a function, without <<< >>>",
     "Only a launch runs a kernel on the GPU: axpy_kernel<<<blocks, kThreads, 0, stream>>>(y, a, x, count)."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

namespace {

using exercise::is_mistake;

constexpr int kThreads = 256;

// Kernels cannot ask is_mistake(): they are told.
struct Faults {
  bool no_guard, guard_includes_count, ignores_block, replaces, strided, number_of_blocks_in_index, scales_y,
      guard_stops_short;
};

__global__ void axpy_kernel(float* y, float a, const float* x, int count, Faults faults) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (faults.ignores_block) i = threadIdx.x;
  if (faults.strided) i = threadIdx.x * gridDim.x + blockIdx.x;
  if (faults.number_of_blocks_in_index) i = blockIdx.x * gridDim.x + threadIdx.x;
  const int end = faults.guard_includes_count ? count + 1 : faults.guard_stops_short ? count - 1 : count;
  if (!faults.no_guard && i >= end) return;
  if (faults.scales_y) {
    y[i] = a * y[i] + x[i];
  } else {
    y[i] = (faults.replaces ? 0.0F : y[i]) + a * x[i];
  }
}

__global__ void loop_kernel(float* y, float a, const float* x, int count, int step) {
  for (int i = step == 1 ? 0 : blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) y[i] += a * x[i];
}

__global__ void stretch_kernel(float* y, float a, const float* x, int count) {
  const int threads = gridDim.x * blockDim.x, share = (count + threads - 1) / threads;
  const int begin = (blockIdx.x * blockDim.x + threadIdx.x) * share, end = min(begin + share, count);
  for (int i = begin; i < end; ++i) y[i] += a * x[i];
}

}  // namespace

void axpy(float* y, float a, const float* x, int count, cudaStream_t stream) {
  if (count == 0) return;
  if (is_mistake("no_launch")) {
    for (int i = 0; i < count; ++i) y[i] += a * x[i];
    return;
  }
  int blocks = (count + kThreads - 1) / kThreads;
  if (is_mistake("rounds_blocks_down")) blocks = count / kThreads;
  if (is_mistake("one_block")) blocks = 1;
  if (is_mistake("consecutive_elements")) {
    stretch_kernel<<<(blocks + 3) / 4, kThreads, 0, stream>>>(y, a, x, count);
    return;
  }
  if (is_mistake("steps_of_a_block") || is_mistake("everybody_does_all")) {
    loop_kernel<<<blocks, kThreads, 0, stream>>>(y, a, x, count, is_mistake("steps_of_a_block") ? kThreads : 1);
    return;
  }
  const Faults faults{is_mistake("no_guard"),      is_mistake("guard_includes_count"),
                      is_mistake("ignores_block"), is_mistake("replaces"),
                      is_mistake("strided"),       is_mistake("number_of_blocks_in_index"),
                      is_mistake("scales_y"),      is_mistake("guard_stops_short")};
  const bool is_swapped = is_mistake("blocks_and_threads_swapped");
  axpy_kernel<<<is_swapped ? kThreads : blocks, is_swapped ? blocks : kThreads, 0, stream>>>(y, a, x, count, faults);
}

}  // namespace lockstep::kernels
