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
      barrier_in_loop, blocks_replace;
};

__global__ void histogram_kernel(unsigned* counts, const unsigned char* bytes, int count, Faults faults) {
  __shared__ unsigned of_block[kValues];
  for (int value = threadIdx.x; value < kValues; value += kThreads) of_block[value] = 0;
  if (!faults.no_barrier_after_clearing) __syncthreads();
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
    if (faults.plain_addition_in_block) {
      of_block[bytes[i]] += 1;
    } else {
      atomicAdd(&of_block[bytes[i]], 1U);
    }
    if (faults.barrier_in_loop) __syncthreads();
  }
  if (!faults.no_barrier_after_counting) __syncthreads();
  for (int value = threadIdx.x; value < kValues; value += kThreads) {
    if (faults.plain_addition_of_blocks) {
      counts[value] += of_block[value];
    } else if (faults.blocks_replace) {
      counts[value] = of_block[value];
    } else {
      atomicAdd(&counts[value], of_block[value]);
    }
  }
}

__global__ void slow_kernel(unsigned* counts, const unsigned char* bytes, int count) {
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads)
    atomicAdd(&counts[bytes[i]], 1U);
}

}  // namespace

void histogram(unsigned* counts, const unsigned char* bytes, int count, int blocks, cudaStream_t stream) {
  cudaMemsetAsync(counts, 0, kValues * sizeof(unsigned), stream);
  if (is_mistake("no_shared_counts")) {
    slow_kernel<<<blocks, kThreads, 0, stream>>>(counts, bytes, count);
    return;
  }
  const Faults faults{is_mistake("no_barrier_after_clearing"), is_mistake("no_barrier_after_counting"),
                      is_mistake("plain_addition_in_block"),   is_mistake("plain_addition_of_blocks"),
                      is_mistake("barrier_in_loop"),           is_mistake("blocks_replace")};
  histogram_kernel<<<blocks, kThreads, 0, stream>>>(counts, bytes, count, faults);
}

}  // namespace lockstep::kernels
