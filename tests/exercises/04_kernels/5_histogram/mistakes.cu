#include "04_kernels/5_histogram/histogram.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"no_barrier_after_clearing", "a thread counts a value before the thread that clears it has done so",
     "All counts of the block must be zero before any thread counts: a barrier goes between the two loops."},
    {"no_barrier_after_counting", "a thread passes on a value's count while other threads are still counting it",
     "All bytes of the block must be counted before any count is passed on: a barrier goes between the two loops."},
    {"plain_addition_in_block",
     "two threads of a block that meet the same value read the same count, and one addition is "
     "lost",
     "of_block[...] += 1 reads and writes in two steps; atomicAdd makes one step of them."},
    {"plain_addition_of_blocks", "two blocks add to the same count in device memory, and one addition is lost",
     "counts[value] += ... reads and writes in two steps; atomicAdd makes one step of them."},
    {"barrier_in_loop", "a barrier stands in a loop that the block's threads do not run through equally often",
     "Put barriers between loops, where every thread of the block comes by once."},
    {"no_shared_counts", "each byte is added to the counts in device memory, with an atomic addition each",
     "That is right but slow: all blocks queue for 256 addresses. Keep the counts in shared memory, and mend those."},
    {"blocks_replace", "each block stores its counts in place of those of the other blocks",
     "The blocks' counts have to be added up."},
    {"barrier_in_branch", "a barrier stands in a branch that only threads with a byte of their own take",
     "Every thread of the block has to come to it, also one that has nothing to count."},
    {"clears_in_kernel", "each block clears the counts in device memory, to which others may have added already",
     "No barrier reaches from one block to another. Clear them before the launch: the cudaMemsetAsync() does."},
    {"never_clears_result", "the counts in device memory are added to what was there before",
     "Keep the cudaMemsetAsync() before the launch."},
    {"never_clears_block", "the block's counts in shared memory are never set to 0",
     "Shared memory holds leftovers when a block begins: clear it, and wait, before counting."},
    {"clears_half", "each thread clears one count, so of the 256 only the first 128 are 0",
     "A block has fewer threads than there are values: clear them in a loop."},
    {"one_block", "the kernel is launched with one block, which counts all bytes alone",
     "One block cannot race with others, but it uses one multiprocessor of the GPU. Launch `blocks`, and make the "
     "addition of their counts atomic."},
    {"steps_of_a_block", "a thread goes on kThreads bytes further, where the next block's threads have begun",
     "With several blocks, bytes are counted more than once: the step is gridDim.x * kThreads."},
    {"clears_bytes", "cudaMemsetAsync() is given the number of counts, but it clears bytes",
     "256 counts are 256 * sizeof(unsigned) bytes."},
    {"one_thread_passes_on", "one thread of the block passes on all of its counts, one after the other",
     "Neighbouring threads should pass on neighbouring counts, all threads of the block together."},
    {"one_thread_counts", "one thread counts all bytes, and the others do nothing",
     "Nothing races then, but nothing is done side by side either: let all threads count, with atomicAdd."},
    {"passes_on_ones", "every count is passed on as 1, whatever the block has counted",
     "atomicAdd(&counts[value], of_block[value])."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

namespace {

using exercise::is_mistake;

constexpr int kValues = 256, kThreads = 128;

// Kernels cannot ask is_mistake(): they are told.
struct Faults {
  bool no_barrier_after_clearing, no_barrier_after_counting, plain_addition_in_block, plain_addition_of_blocks,
      barrier_in_loop, blocks_replace, barrier_in_branch, clears_in_kernel, never_clears_block, clears_half,
      one_thread_passes_on, passes_on_ones, steps_of_a_block;
};

__global__ void histogram_kernel(unsigned* counts, const unsigned char* bytes, int count, Faults faults) {
  __shared__ unsigned of_block[kValues];
  for (int value = threadIdx.x; value < (faults.clears_half ? kThreads : kValues); value += kThreads) {
    if (!faults.never_clears_block) of_block[value] = 0;
    if (faults.clears_in_kernel) counts[value] = 0;
  }
  if (!faults.no_barrier_after_clearing) __syncthreads();
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < count;
       i += (faults.steps_of_a_block ? 1 : gridDim.x) * kThreads) {
    if (faults.plain_addition_in_block) {
      of_block[bytes[i]] += 1;
    } else {
      atomicAdd(&of_block[bytes[i]], 1U);
    }
    if (faults.barrier_in_loop) __syncthreads();
  }
  if (faults.barrier_in_branch) {
    if (static_cast<int>(blockIdx.x * kThreads + threadIdx.x) < count) __syncthreads();
  } else if (!faults.no_barrier_after_counting) {
    __syncthreads();
  }
  if (faults.one_thread_passes_on && threadIdx.x != 0) return;
  const int step = faults.one_thread_passes_on ? 1 : kThreads;
  for (int value = threadIdx.x; value < kValues; value += step) {
    if (faults.plain_addition_of_blocks) {
      counts[value] += of_block[value];
    } else if (faults.blocks_replace) {
      counts[value] = of_block[value];
    } else {
      atomicAdd(&counts[value], faults.passes_on_ones ? 1U : of_block[value]);
    }
  }
}

__global__ void slow_kernel(unsigned* counts, const unsigned char* bytes, int count) {
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads)
    atomicAdd(&counts[bytes[i]], 1U);
}

__global__ void lonely_kernel(unsigned* counts, const unsigned char* bytes, int count) {
  __shared__ unsigned of_all[kValues];
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  for (unsigned& each : of_all) each = 0;
  for (int i = 0; i < count; ++i) of_all[bytes[i]] += 1;
  for (int value = 0; value < kValues; ++value) counts[value] = of_all[value];
}

}  // namespace

void histogram(unsigned* counts, const unsigned char* bytes, int count, int blocks, cudaStream_t stream) {
  if (!is_mistake("never_clears_result") && !is_mistake("clears_in_kernel"))
    cudaMemsetAsync(counts, 0, kValues * (is_mistake("clears_bytes") ? 1 : sizeof(unsigned)), stream);
  if (is_mistake("no_shared_counts")) {
    slow_kernel<<<blocks, kThreads, 0, stream>>>(counts, bytes, count);
    return;
  }
  if (is_mistake("one_thread_counts")) {
    lonely_kernel<<<blocks, kThreads, 0, stream>>>(counts, bytes, count);
    return;
  }
  if (is_mistake("one_block")) blocks = 1;
  const Faults faults{is_mistake("no_barrier_after_clearing"), is_mistake("no_barrier_after_counting"),
                      is_mistake("plain_addition_in_block"),   is_mistake("plain_addition_of_blocks"),
                      is_mistake("barrier_in_loop"),           is_mistake("blocks_replace"),
                      is_mistake("barrier_in_branch"),         is_mistake("clears_in_kernel"),
                      is_mistake("never_clears_block"),        is_mistake("clears_half"),
                      is_mistake("one_thread_passes_on"),      is_mistake("passes_on_ones"),
                      is_mistake("steps_of_a_block")};
  histogram_kernel<<<blocks, kThreads, 0, stream>>>(counts, bytes, count, faults);
}

}  // namespace lockstep::kernels
