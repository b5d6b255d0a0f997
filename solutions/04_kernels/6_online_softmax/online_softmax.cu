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
    // SOLUTION(04.6): if x is larger, scale the sum to the new maximum; add x's own share; mind minus infinity
    if (x == -INFINITY) return;  // masked: adds nothing, and infinity minus infinity would be no number
    const float old_largest = largest;
    largest = fmaxf(largest, x);
    sum = sum * expf(old_largest - largest) + expf(x - largest);  // exp(-infinity) is 0 for the first value
    // END SOLUTION
  }

  // Takes in what another lane has seen of the same row.
  __device__ void combine(Running other) {
    // SOLUTION(04.6): scale both sums to the larger of the two maxima, and add them; mind lanes that have seen nothing
    const float both = fmaxf(largest, other.largest);
    if (both == -INFINITY) return;  // neither has seen a value
    sum = sum * expf(largest - both) + other.sum * expf(other.largest - both);
    largest = both;
    // END SOLUTION
  }
};

// A warp per row: threadIdx.x is the lane, threadIdx.y the warp.
__global__ void online_softmax_kernel(float* out, const float* in, int rows, int columns) {
  const int lane = threadIdx.x, row = blockIdx.x * kWarps + threadIdx.y;
  if (row >= rows) return;  // whole warps: all lanes of a warp have the same row
  const float* const x = in + row * columns;
  float* const y = out + row * columns;
  // SOLUTION(04.6): each lane adds every 32nd value; combine the lanes with shuffles; write the row of the output
  Running own;
  for (int i = lane; i < columns; i += kWarp) own.add(x[i]);
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    Running other;
    other.largest = __shfl_xor_sync(kAllLanes, own.largest, distance);
    other.sum = __shfl_xor_sync(kAllLanes, own.sum, distance);
    own.combine(other);
  }
  for (int i = lane; i < columns; i += kWarp) y[i] = expf(x[i] - own.largest) / own.sum;
  // END SOLUTION
}

}  // namespace

void online_softmax(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  // SOLUTION(04.6) online_softmax: launch the kernel with enough blocks of kWarp x kWarps threads
  online_softmax_kernel<<<(rows + kWarps - 1) / kWarps, dim3(kWarp, kWarps), 0, stream>>>(out, in, rows, columns);
  // END SOLUTION
}

}  // namespace lockstep::kernels
