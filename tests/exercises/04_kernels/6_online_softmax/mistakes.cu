#include "04_kernels/6_online_softmax/online_softmax.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"sum_not_scaled", "the sum is not scaled when a larger value comes",
     "What has been added so far is relative to the old maximum: multiply it by exp(old maximum - new maximum)."},
    {"scaled_the_wrong_way",
     "the sum is multiplied by exp(new maximum - old maximum), the inverse of what it should be",
     "A larger maximum makes all exponentials smaller: the factor is at most 1."},
    {"forgets_own_share", "a value that becomes the new maximum is not added itself",
     "Its own share is exp(x - x) = 1."},
    {"no_maximum", "exponentials are summed up without subtracting the maximum, and large values overflow",
     "exp(89) is more than a float can hold. Subtract the largest value from the argument."},
    {"sums_added_unscaled", "combining two lanes adds their sums, although each is relative to its own maximum",
     "Scale both sums to the larger maximum first."},
    {"lanes_not_combined", "each lane divides by the sum of the values that it has seen itself",
     "After the loop, combine the lanes' results with shuffles; then all lanes have the same."},
    {"infinity_in_combine", "two lanes that have seen no value compute infinity minus infinity",
     "If both maxima are minus infinity, there is nothing to combine."},
    {"infinity_in_add", "a masked value that comes first computes infinity minus infinity",
     "Skip values that are minus infinity: they add nothing."},
    {"three_passes", "maximum and sum are found in separate passes over the row",
     "Find both in one pass: add() keeps the sum right while the maximum changes."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

namespace {

using exercise::is_mistake;

constexpr int kWarp = 32, kWarps = 4;
constexpr unsigned kAllLanes = 0xffffffffU;

// Kernels cannot ask is_mistake(): they are told.
struct Faults {
  bool sum_not_scaled, scaled_the_wrong_way, forgets_own_share, no_maximum, sums_added_unscaled, lanes_not_combined,
      infinity_in_combine, infinity_in_add, three_passes;
};

struct Running {
  float largest = -INFINITY;
  float sum = 0;

  __device__ void add(float x, const Faults& faults) {
    if (x == -INFINITY && !faults.infinity_in_add) return;
    if (x > largest) {
      float factor = expf(largest - x);
      if (faults.sum_not_scaled) factor = 1;
      if (faults.scaled_the_wrong_way && sum > 0) factor = 1 / factor;
      sum = sum * factor + (faults.forgets_own_share ? 0.0F : 1.0F);
      largest = x;
    } else {
      sum += expf(x - largest);
    }
  }

  __device__ void combine(Running other, const Faults& faults) {
    const float both = fmaxf(largest, other.largest);
    if (both == -INFINITY && !faults.infinity_in_combine) return;
    if (faults.sums_added_unscaled) {
      sum += other.sum;
    } else {
      sum = sum * expf(largest - both) + other.sum * expf(other.largest - both);
    }
    largest = both;
  }
};

__global__ void online_softmax_kernel(float* out, const float* in, int rows, int columns, Faults faults) {
  const int lane = threadIdx.x, row = blockIdx.x * kWarps + threadIdx.y;
  if (row >= rows) return;
  const float* const x = in + row * columns;
  float* const y = out + row * columns;
  Running own;
  if (faults.no_maximum) {
    own.largest = 0;
    for (int i = lane; i < columns; i += kWarp) own.sum += expf(x[i]);
  } else if (faults.three_passes) {
    for (int i = lane; i < columns; i += kWarp) own.largest = fmaxf(own.largest, x[i]);
    for (int i = lane; i < columns; i += kWarp)
      if (x[i] != -INFINITY) own.sum += expf(x[i] - own.largest);
  } else {
    for (int i = lane; i < columns; i += kWarp) own.add(x[i], faults);
  }
  for (int distance = kWarp / 2; distance > 0 && !faults.lanes_not_combined; distance /= 2) {
    Running other;
    other.largest = __shfl_xor_sync(kAllLanes, own.largest, distance);
    other.sum = __shfl_xor_sync(kAllLanes, own.sum, distance);
    own.combine(other, faults);
  }
  for (int i = lane; i < columns; i += kWarp) y[i] = expf(x[i] - own.largest) / own.sum;
}

}  // namespace

void online_softmax(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const Faults faults{
      is_mistake("sum_not_scaled"),      is_mistake("scaled_the_wrong_way"), is_mistake("forgets_own_share"),
      is_mistake("no_maximum"),          is_mistake("sums_added_unscaled"),  is_mistake("lanes_not_combined"),
      is_mistake("infinity_in_combine"), is_mistake("infinity_in_add"),      is_mistake("three_passes")};
  online_softmax_kernel<<<(rows + kWarps - 1) / kWarps, dim3(kWarp, kWarps), 0, stream>>>(out, in, rows, columns,
                                                                                          faults);
}

}  // namespace lockstep::kernels
