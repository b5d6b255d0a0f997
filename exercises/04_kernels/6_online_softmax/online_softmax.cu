#include "04_kernels/6_online_softmax/online_softmax.hpp"

namespace lockstep::kernels {

namespace {

constexpr int kWarp = 32;                    // lanes of a warp
constexpr int kWarps = 4;                    // of a block; each has a row of its own
constexpr unsigned kAllLanes = 0xffffffffU;  // all 32 lanes take part in a shuffle

// The largest of some values and the sum of their exponentials, both as far as values have come. The sum is relative to
// the largest: of exp(x - largest), so that no exponential overflows.
struct Running {
  float largest = -INFINITY;
  float sum = 0;

  // Takes in one more value.
  __device__ void add(float x) {
    // TODO(04.6): if x is larger, scale the sum to the new maximum; add x's own share; mind minus infinity
  }

  // Takes in what another lane has seen of the same row.
  __device__ void combine(Running other) {
    // TODO(04.6): scale both sums to the larger of the two maxima, and add them; mind lanes that have seen nothing
  }
};

// A warp per row: threadIdx.x is the lane, threadIdx.y the warp.
__global__ void online_softmax_kernel(float* out, const float* in, int rows, int columns) {
  const int lane = threadIdx.x, row = blockIdx.x * kWarps + threadIdx.y;
  if (row >= rows) return;  // whole warps: all lanes of a warp have the same row
  const float* const x = in + row * columns;
  float* const y = out + row * columns;
  // TODO(04.6): each lane adds every 32nd value; combine the lanes with shuffles; write the row of the output
}

}  // namespace

void online_softmax(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  // TODO(04.6): launch the kernel with enough blocks of kWarp x kWarps threads
  lockstep::todo("04.6 online_softmax");
}

}  // namespace lockstep::kernels
