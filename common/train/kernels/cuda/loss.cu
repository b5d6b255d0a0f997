// Softmax and cross-entropy of [R, V] logits in two passes over each row; the second reading of a row finds it in the
// second-level cache (a row of 50257 float32 is 201 KB, all blocks of an H100 together hold 27 MB of its 50 MB).
// @source Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018: largest element and sum in one
// pass.
#include "kernels/cuda/faults.cuh"
#include "kernels/cuda/launching.cuh"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/sums.cuh"
#include "kernels/cuda/types.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / kWarpSize;
constexpr std::int32_t kIgnoredTarget = -100;  // as in kernels/loss.hpp
constexpr float kInfinity = __builtin_huge_valf();

/// The largest of some elements, and the sum of e^(x - largest) over them. Empty: (-infinity, 0).
struct RunningSum {
  float largest, sum;
};

/// e^(x - largest); an element of -infinity counts as 0 even if nothing larger has been seen.
__device__ inline float exponential(float x, float largest) {
  return expf(x - (largest == -kInfinity ? 0.0F : largest));
}

/// The running sum of both.
__device__ inline RunningSum joined(RunningSum a, RunningSum b) {
  const float largest = fmaxf(a.largest, b.largest);
  return {largest, a.sum * exponential(a.largest, largest) + b.sum * exponential(b.largest, largest)};
}

/// Over all threads of the block; each gets the result. Every thread calls it, once.
__device__ inline RunningSum joined_over_block(RunningSum mine, RunningSum* partial) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize, warp = static_cast<int>(threadIdx.x) / kWarpSize;
#pragma unroll
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
    mine = joined(mine,
                  {__shfl_xor_sync(kAllLanes, mine.largest, distance), __shfl_xor_sync(kAllLanes, mine.sum, distance)});
  }
  if (lane == 0) partial[warp] = mine;
  __syncthreads();
  mine = partial[lane % kWarps];
#pragma unroll
  for (int distance = kWarps / 2; distance > 0; distance /= 2) {
    mine = joined(mine,
                  {__shfl_xor_sync(kAllLanes, mine.largest, distance), __shfl_xor_sync(kAllLanes, mine.sum, distance)});
  }
  return mine;
}

/// Calls body(i, std::integral_constant<int, width>) for packs and single elements that cover a row. Rows of odd length
/// do not begin at multiples of 16 bytes: packs begin at such multiples, and the rest at either end goes element by
/// element. Each element belongs to the same thread in every call.
template <typename S, typename Body>
__device__ inline void for_each_pack(const S* row, std::int64_t count, const Body& body) {
  constexpr int W = kPackWidth<S>;
  const std::int64_t shift = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(row) % 16 / sizeof(S));
  for (std::int64_t i = std::int64_t{threadIdx.x} * W - shift; i < count; i += kThreads * W) {
    if (i >= 0 && i + W <= count) {
      body(i, std::integral_constant<int, W>{});
    } else {
      for (int k = 0; k < W; ++k) {
        if (i + k >= 0 && i + k < count) body(i + k, std::integral_constant<int, 1>{});
      }
    }
  }
}

template <typename S>
struct AddToRunningSum {
  const S* row;
  RunningSum* running;

  template <int W>
  __device__ void operator()(std::int64_t i, std::integral_constant<int, W>) const {
    const Floats<W> values = load<W>(row, i);
    float largest = running->largest;
#pragma unroll
    for (int k = 0; k < W; ++k) largest = fmaxf(largest, values.at[k]);
    float sum = running->sum * exponential(running->largest, largest);
#pragma unroll
    for (int k = 0; k < W; ++k) sum += exponential(values.at[k], largest);
    *running = {largest, sum};
  }
};

/// row[i] = factor e^(x - largest), less gradient_scale at the target.
template <typename S>
struct WriteGradient {
  S* row;
  float largest, factor, gradient_scale;
  std::int64_t target;

  template <int W>
  __device__ void operator()(std::int64_t i, std::integral_constant<int, W>) const {
    Floats<W> values = load<W>(row, i);
#pragma unroll
    for (int k = 0; k < W; ++k) {
      values.at[k] = expf(values.at[k] - largest) * factor - (i + k == target ? gradient_scale : 0.0F);
    }
    store(row, i, values);
  }
};

template <typename S>
struct WriteZeros {
  S* row;

  template <int W>
  __device__ void operator()(std::int64_t i, std::integral_constant<int, W>) const {
    store(row, i, Floats<W>{});
  }
};

/// losses[r] = log(sum e^logits[r]) - logits[r, target]; with kGradient the row becomes its gradient.
///
/// Launch: R blocks of kThreads, one per row. Traffic: reads R V elements from memory and once more from the cache;
/// with kGradient writes as many.
template <bool kGradient, typename S>
__global__ void __launch_bounds__(kThreads)
    cross_entropy_rows(float* losses, S* logits, const std::int32_t* targets, std::int64_t vocabulary,
                       float gradient_scale, DeviceFaults* faults) {
  __shared__ RunningSum partial[kWarps];
  const std::int64_t r = blockIdx.x;
  S* const row = logits + r * vocabulary;
  const std::int32_t target = targets[r];
  if (target < 0 || target >= vocabulary) {  // the same for all threads of the block
    if constexpr (kGradient) for_each_pack(row, vocabulary, WriteZeros<S>{row});
    if (threadIdx.x != 0) return;
    losses[r] = 0.0F;
    if (target != kIgnoredTarget) note_fault(&faults->target, r, target);
    return;
  }
  const float target_logit = widened(row[target]);
  RunningSum running{-kInfinity, 0.0F};
  for_each_pack(row, vocabulary, AddToRunningSum<S>{row, &running});
  const auto [largest, sum] = joined_over_block(running, partial);
  if (threadIdx.x == 0) losses[r] = logf(sum) + (largest - target_logit);
  if constexpr (kGradient) {
    for_each_pack(row, vocabulary, WriteGradient<S>{row, largest, gradient_scale / sum, gradient_scale, target});
  }
}

/// statistics[r] = (largest logit, sum e^(logit - largest), logit of the target or 0 if it is in another part).
///
/// Launch and traffic: as cross_entropy_rows without the gradient.
template <typename S>
__global__ void __launch_bounds__(kThreads)
    statistics_of_rows(float* statistics, const S* logits, const std::int32_t* targets, std::int64_t columns,
                       VocabularyPart part, DeviceFaults* faults) {
  __shared__ RunningSum partial[kWarps];
  const std::int64_t r = blockIdx.x;
  const S* const row = logits + r * columns;
  const std::int32_t target = targets[r];
  const bool is_counted = target >= 0 && target < part.whole;  // the same for all threads of the block
  RunningSum running{0.0F, 0.0F};
  if (is_counted) {
    running.largest = -kInfinity;
    for_each_pack(row, columns, AddToRunningSum<S>{row, &running});
    running = joined_over_block(running, partial);
  }
  if (threadIdx.x != 0) return;
  const std::int64_t column = target - part.first;
  statistics[3 * r] = running.largest;
  statistics[3 * r + 1] = running.sum;
  statistics[3 * r + 2] = is_counted && column >= 0 && column < columns ? widened(row[column]) : 0.0F;
  if (!is_counted && target != kIgnoredTarget) note_fault(&faults->target, r, target);
}

/// The row becomes its gradient, of these columns: the statistics are those of the whole row.
///
/// Launch: as cross_entropy_rows. Traffic: reads and writes R columns elements.
template <typename S>
__global__ void __launch_bounds__(kThreads)
    gradient_of_rows(S* logits, const float* statistics, const std::int32_t* targets, std::int64_t columns,
                     VocabularyPart part, float gradient_scale, DeviceFaults* faults) {
  const std::int64_t r = blockIdx.x;
  S* const row = logits + r * columns;
  const std::int32_t target = targets[r];
  if (target < 0 || target >= part.whole) {
    for_each_pack(row, columns, WriteZeros<S>{row});
    if (threadIdx.x == 0 && target != kIgnoredTarget) note_fault(&faults->target, r, target);
    return;
  }
  const float largest = statistics[3 * r], sum = statistics[3 * r + 1];
  for_each_pack(row, columns,
                WriteGradient<S>{row, largest, gradient_scale / sum, gradient_scale, target - part.first});
}

template <bool kGradient>
void row_losses(Array losses, Array logits, ConstArray targets, double gradient_scale, Context context) {
  if (logits.count() == 0) return;
  on_storage_type(logits, [&](auto zero) {
    using S = decltype(zero);
    cuda_check(launch(cross_entropy_rows<kGradient, S>, dim3(static_cast<unsigned int>(logits.rows)), dim3(kThreads), 0,
                      context.stream, losses.as<float>(), logits.as<S>(), targets.as<std::int32_t>(), logits.columns,
                      static_cast<float>(gradient_scale), context.faults));
  });
}

}  // namespace

void cross_entropy_statistics(Array statistics, ConstArray logits, ConstArray targets, const VocabularyPart& part,
                              Context context) {
  if (logits.rows == 0) return;
  on_storage_type(logits, [&](auto zero) {
    using S = decltype(zero);
    cuda_check(launch(statistics_of_rows<S>, dim3(static_cast<unsigned int>(logits.rows)), dim3(kThreads), 0,
                      context.stream, statistics.as<float>(), logits.as<S>(), targets.as<std::int32_t>(),
                      logits.columns, part, context.faults));
  });
}

void cross_entropy_gradient(Array logits, ConstArray statistics, ConstArray targets, const VocabularyPart& part,
                            double gradient_scale, Context context) {
  if (logits.count() == 0) return;
  on_storage_type(logits, [&](auto zero) {
    using S = decltype(zero);
    cuda_check(launch(gradient_of_rows<S>, dim3(static_cast<unsigned int>(logits.rows)), dim3(kThreads), 0,
                      context.stream, logits.as<S>(), statistics.as<float>(), targets.as<std::int32_t>(),
                      logits.columns, part, static_cast<float>(gradient_scale), context.faults));
  });
}

void softmax_cross_entropy(Array losses, Array logits, ConstArray targets, double gradient_scale, Context context) {
  row_losses<true>(losses, logits, targets, gradient_scale, context);
}

void cross_entropy_loss(Array losses, Array logits, ConstArray targets, Context context) {
  row_losses<false>(losses, logits, targets, 0.0, context);
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
