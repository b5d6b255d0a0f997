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
  bool no_guard, guard_includes_count, ignores_block, replaces, strided;
};

__global__ void axpy_kernel(float* y, float a, const float* x, int count, Faults faults) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (faults.ignores_block) i = threadIdx.x;
  if (faults.strided) i = threadIdx.x * gridDim.x + blockIdx.x;
  const int end = faults.guard_includes_count ? count + 1 : count;
  if (faults.no_guard || i < end) y[i] = (faults.replaces ? 0.0F : y[i]) + a * x[i];
}

}  // namespace

void axpy(float* y, float a, const float* x, int count, cudaStream_t stream) {
  if (count == 0) return;
  int blocks = (count + kThreads - 1) / kThreads;
  if (is_mistake("rounds_blocks_down")) blocks = count / kThreads;
  if (is_mistake("one_block")) blocks = 1;
  const Faults faults{is_mistake("no_guard"), is_mistake("guard_includes_count"), is_mistake("ignores_block"),
                      is_mistake("replaces"), is_mistake("strided")};
  axpy_kernel<<<blocks, kThreads, 0, stream>>>(y, a, x, count, faults);
}

}  // namespace lockstep::kernels
