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
    {"infinite_factor",
     "exp(x - -infinity) is computed, which is infinite: as a factor of the sum at the first value, or because the new "
     "maximum "
     "is never stored",
     "The factor is exp(old maximum - new maximum), at first 0; then comes largest = x, then exp(x - largest)."},
    {"forgets_own_share", "a value that becomes the new maximum is not added itself",
     "Its own share is exp(x - x) = 1."},
    {"no_maximum", "exponentials are summed up without subtracting the maximum, and large values overflow",
     "exp(89) is more than a float can hold. Subtract the largest value from the argument."},
    {"sums_added_unscaled", "combining two lanes adds their sums, although each is relative to its own maximum",
     "Scale both sums to the larger maximum first."},
    {"other_sum_not_scaled", "combining two lanes scales the lane's own sum, but not the other one's",
     "Both sums are relative to a maximum of their own: scale both to the larger one."},
    {"maximum_stored_first", "combining two lanes stores the larger maximum before the lane's own sum is scaled to it",
     "Then the factor of its own sum is exp(0). Compute the new maximum in a variable, scale both sums, then store "
     "it."},
    {"one_step_too_few", "the distances end at 2, so that each lane has half of the row",
     "The last step combines neighbours, at distance 1."},
    {"lanes_not_combined", "each lane divides by the sum of the values that it has seen itself",
     "After the loop, combine the lanes' results with shuffles; then all lanes have the same."},
    {"infinity_in_combine", "two lanes that have seen no value compute infinity minus infinity",
     "If both maxima are minus infinity, there is nothing to combine."},
    {"empty_takes_nothing", "a lane that has seen nothing keeps nothing when it is combined with one that has",
     "Only two lanes without values have nothing to combine: an empty one takes over the other's maximum and sum."},
    {"infinity_in_add", "a masked value that comes first computes infinity minus infinity",
     "Skip values that are minus infinity: they add nothing."},
    {"only_new_maxima", "a value that is not the new maximum is left out of the sum",
     "Every value adds exp(value - maximum)."},
    {"not_divided", "the output is not divided by the sum", "y = exp(x - maximum) / sum."},
    {"output_without_maximum", "the maximum is subtracted in the sum, but not in the output",
     "y = exp(x - maximum) / sum."},
    {"starts_at_zero", "the maximum starts at 0, so negative values far from it underflow",
     "Before any value is seen, the maximum is minus infinity."},
    {"every_lane_adds_all", "each lane adds all values of the row, and then the lanes are combined",
     "Lane l takes the values l, l + 32, l + 64 ...: each is added once."},
    {"shuffles_down", "__shfl_down_sync leaves the row's result in lane 0 alone; the other lanes have parts of it",
     "With __shfl_xor_sync all lanes get it; or pass lane 0's on with __shfl_sync(kAllLanes, value, 0)."},
    {"lanes_leave_early", "lanes without a value return before the shuffles, whose mask names all 32 lanes",
     "All lanes of the warp take part in a shuffle; one that has seen nothing has the sum 0."},
    {"consecutive_values", "each lane takes a stretch of consecutive values, so the lanes of a warp are far apart",
     "Lane l takes the values l, l + 32, l + 64 ..."},
    {"flat_block", "the launch has kWarp * kWarps threads in x, but the kernel takes threadIdx.x for the lane",
     "A block is two-dimensional: dim3(kWarp, kWarps)."},
    {"stores_numerators_first", "the exponentials are stored, read again, divided and stored a second time",
     "Store each element once, when the sum is known: a second read of the input costs less."},
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
      infinity_in_combine, infinity_in_add, three_passes, infinite_factor, only_new_maxima, not_divided,
      output_without_maximum, starts_at_zero, every_lane_adds_all, shuffles_down, lanes_leave_early, consecutive_values,
      stores_numerators_first, other_sum_not_scaled, one_step_too_few, maximum_stored_first, empty_takes_nothing;
};

struct Running {
  float largest = -INFINITY;
  float sum = 0;

  __device__ void add(float x, const Faults& faults) {
    if (x == -INFINITY && !faults.infinity_in_add) return;
    if (x > largest) {
      float factor = expf(largest - x);
      if (faults.sum_not_scaled) factor = 1;
      if (faults.infinite_factor) factor = expf(x - largest);
      if (faults.scaled_the_wrong_way && sum > 0) factor = 1 / factor;
      sum = sum * factor + (faults.forgets_own_share ? 0.0F : 1.0F);
      largest = x;
    } else if (!faults.only_new_maxima) {
      sum += expf(x - largest);
    }
  }

  __device__ void combine(Running other, const Faults& faults) {
    const float both = fmaxf(largest, other.largest);
    if (both == -INFINITY && !faults.infinity_in_combine) return;
    if (faults.empty_takes_nothing && (largest == -INFINITY || other.largest == -INFINITY)) return;
    if (faults.sums_added_unscaled) {
      sum += other.sum;
    } else if (faults.other_sum_not_scaled) {
      sum = sum * expf(largest - both) + other.sum;
    } else if (faults.maximum_stored_first) {
      sum += other.sum * expf(other.largest - both);
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
  if (faults.starts_at_zero) own.largest = 0;
  if (faults.no_maximum) {
    own.largest = 0;
    for (int i = lane; i < columns; i += kWarp) own.sum += expf(x[i]);
  } else if (faults.three_passes) {
    for (int i = lane; i < columns; i += kWarp) own.largest = fmaxf(own.largest, x[i]);
    for (int i = lane; i < columns; i += kWarp)
      if (x[i] != -INFINITY) own.sum += expf(x[i] - own.largest);
  } else if (faults.consecutive_values) {
    const int share = (columns + kWarp - 1) / kWarp, end = min((lane + 1) * share, columns);
    for (int i = lane * share; i < end; ++i) own.add(x[i], faults);
  } else {
    const int step = faults.every_lane_adds_all ? 1 : kWarp;
    for (int i = faults.every_lane_adds_all ? 0 : lane; i < columns; i += step) own.add(x[i], faults);
  }
  if (faults.lanes_leave_early && lane >= columns) return;
  if (faults.stores_numerators_first)
    for (int i = lane; i < columns; i += kWarp) y[i] = x[i];
  for (int distance = kWarp / 2; distance > (faults.one_step_too_few ? 1 : 0) && !faults.lanes_not_combined;
       distance /= 2) {
    Running other;
    if (faults.shuffles_down) {
      other.largest = __shfl_down_sync(kAllLanes, own.largest, distance);
      other.sum = __shfl_down_sync(kAllLanes, own.sum, distance);
    } else {
      other.largest = __shfl_xor_sync(kAllLanes, own.largest, distance);
      other.sum = __shfl_xor_sync(kAllLanes, own.sum, distance);
    }
    own.combine(other, faults);
  }
  const float* const from = faults.stores_numerators_first ? y : x;
  for (int i = lane; i < columns; i += kWarp) {
    const float numerator = expf(faults.output_without_maximum ? from[i] : from[i] - own.largest);
    y[i] = faults.not_divided ? numerator : numerator / own.sum;
  }
}

}  // namespace

void online_softmax(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const Faults faults{is_mistake("sum_not_scaled"),
                      is_mistake("scaled_the_wrong_way"),
                      is_mistake("forgets_own_share"),
                      is_mistake("no_maximum"),
                      is_mistake("sums_added_unscaled"),
                      is_mistake("lanes_not_combined"),
                      is_mistake("infinity_in_combine"),
                      is_mistake("infinity_in_add"),
                      is_mistake("three_passes"),
                      is_mistake("infinite_factor"),
                      is_mistake("only_new_maxima"),
                      is_mistake("not_divided"),
                      is_mistake("output_without_maximum"),
                      is_mistake("starts_at_zero"),
                      is_mistake("every_lane_adds_all"),
                      is_mistake("shuffles_down"),
                      is_mistake("lanes_leave_early"),
                      is_mistake("consecutive_values"),
                      is_mistake("stores_numerators_first"),
                      is_mistake("other_sum_not_scaled"),
                      is_mistake("one_step_too_few"),
                      is_mistake("maximum_stored_first"),
                      is_mistake("empty_takes_nothing")};
  const dim3 threads = is_mistake("flat_block") ? dim3(kWarp * kWarps) : dim3(kWarp, kWarps);
  online_softmax_kernel<<<(rows + kWarps - 1) / kWarps, threads, 0, stream>>>(out, in, rows, columns, faults);
}

}  // namespace lockstep::kernels
