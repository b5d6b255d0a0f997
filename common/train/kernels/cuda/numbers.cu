// Sums of a whole array to one double in device memory: blocks of fixed size write partial sums, one block adds them.
// The result is the same, bit for bit, on every device and in every order of blocks.
#include "kernels/cuda/launching.cuh"
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/sums.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpSize;
constexpr std::int64_t kMostBlocks = 1024;
constexpr std::int64_t kLeastElements = 16 * kThreads;  // of a block: four packs per thread

struct Values {
  const float* from;

  template <int W>
  __device__ double add(std::int64_t i) const {
    const Floats<W> values = load<W>(from, i);
    double sum = 0.0;
#pragma unroll
    for (int k = 0; k < W; ++k) sum += static_cast<double>(values.at[k]);
    return sum;
  }
};

struct Squares {
  const float* from;

  template <int W>
  __device__ double add(std::int64_t i) const {
    const Floats<W> values = load<W>(from, i);
    double sum = 0.0;
#pragma unroll
    for (int k = 0; k < W; ++k) sum += static_cast<double>(values.at[k]) * static_cast<double>(values.at[k]);
    return sum;
  }
};

/// A float is finite unless all bits of its exponent are set.
__device__ bool is_non_finite(float value) {
  constexpr unsigned int kExponentBits = 0x7F800000U;
  return (__float_as_uint(value) & kExponentBits) == kExponentBits;
}

struct NonFinite {
  const float* from;

  template <int W>
  __device__ double add(std::int64_t i) const {
    const Floats<W> values = load<W>(from, i);
    int bad = 0;
#pragma unroll
    for (int k = 0; k < W; ++k) bad += is_non_finite(values.at[k]) ? 1 : 0;
    return bad;
  }
};

/// Counts with atomics if there is something to count, which is rare. Integers: the order does not matter. Traffic:
/// reads the array once.
struct NonFiniteByPart {
  unsigned long long *total, *by_part;
  const float* from;
  const std::int64_t* ends;
  std::int64_t parts;

  template <int W>
  __device__ void run(std::int64_t i) const {
    const Floats<W> values = load<W>(from, i);
#pragma unroll
    for (int k = 0; k < W; ++k) {
      if (is_non_finite(values.at[k])) count(i + k);
    }
  }

  __device__ void count(std::int64_t i) const {
    atomicAdd(total, 1ULL);
    std::int64_t part = 0, behind = parts;  // the first part that ends after i is in [part, behind]
    while (part < behind) {
      const std::int64_t middle = (part + behind) / 2;
      if (ends[middle] <= i) {
        part = middle + 1;
      } else {
        behind = middle;
      }
    }
    if (part < parts) atomicAdd(by_part + part, 1ULL);
  }
};

/// Squares of differences; writes the gradient on the way, if requested.
struct SquaredErrors {
  float* gradient;  // may be null
  const float *prediction, *target;
  float gradient_factor;

  template <int W>
  __device__ double add(std::int64_t i) const {
    Floats<W> values = load<W>(prediction, i);
    const Floats<W> wanted = load<W>(target, i);
    double sum = 0.0;
#pragma unroll
    for (int k = 0; k < W; ++k) {
      values.at[k] -= wanted.at[k];
      sum += static_cast<double>(values.at[k]) * static_cast<double>(values.at[k]);
      values.at[k] *= gradient_factor;
    }
    if (gradient != nullptr) store(gradient, i, values);
    return sum;
  }
};

/// partial[block] = sum of term.add(i) over the block's elements.
///
/// Launch: one block of kThreads for each `per_block` elements, a multiple of W. Traffic: reads the array once.
template <int W, typename Term>
__global__ void __launch_bounds__(kThreads)
    partial_sums(double* partial, Term term, std::int64_t count, std::int64_t per_block) {
  __shared__ double shared[kWarps];
  const std::int64_t begin = std::int64_t{blockIdx.x} * per_block;
  const std::int64_t end = begin + per_block < count ? begin + per_block : count;
  double sum = 0.0;
  for (std::int64_t i = begin + std::int64_t{threadIdx.x} * W; i < end; i += kThreads * W) {
    if (i + W <= end) {
      sum += term.template add<W>(i);
    } else {
      for (std::int64_t rest = i; rest < end; ++rest) sum += term.template add<1>(rest);
    }
  }
  sum = block_sum<kWarps>(sum, shared);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

/// *result = sum of partial [blocks]. Launch: one block of kThreads.
__global__ void __launch_bounds__(kThreads) total_of(double* result, const double* partial, int blocks) {
  __shared__ double shared[kWarps];
  double sum = 0.0;
  for (int block = static_cast<int>(threadIdx.x); block < blocks; block += kThreads) sum += partial[block];
  sum = block_sum<kWarps>(sum, shared);
  if (threadIdx.x == 0) *result = sum;
}

template <typename Term>
void total(double* result, const Term& term, std::int64_t count, bool is_aligned, Context context) {
  constexpr int W = kPackWidth<float>;
  const std::int64_t least =
      blocks_for(count, kLeastElements) <= kMostBlocks ? kLeastElements : blocks_for(count, kMostBlocks);
  const std::int64_t per_block = blocks_for(least, W) * W;
  const auto blocks = static_cast<int>(blocks_for(count, per_block));
  double* const partial = context.scratch->take<double>(blocks == 0 ? 1 : blocks);
  if (blocks > 0) {
    cuda_check(launch(is_aligned ? partial_sums<W, Term> : partial_sums<1, Term>,
                      dim3(static_cast<unsigned int>(blocks)), dim3(kThreads), 0, context.stream, partial, term, count,
                      per_block));
  }
  cuda_check(launch(total_of, dim3(1), dim3(kThreads), 0, context.stream, result, partial, blocks));
}

}  // namespace

void sum(double* result, ConstArray values, Context context) {
  total(result, Values{values.as<float>()}, values.count(), are_aligned(values.data), context);
}

void squared_norm(double* result, ConstArray values, Context context) {
  total(result, Squares{values.as<float>()}, values.count(), are_aligned(values.data), context);
}

void count_non_finite(double* result, ConstArray values, Context context) {
  total(result, NonFinite{values.as<float>()}, values.count(), are_aligned(values.data), context);
}

void count_non_finite_by_part(Array total, Array by_part, ConstArray values, ConstArray ends, Context context) {
  const NonFiniteByPart counting{total.as<unsigned long long>(), by_part.as<unsigned long long>(), values.as<float>(),
                                 ends.as<std::int64_t>(), ends.count()};
  map<float>(counting, values.count(), are_aligned(values.data), context.stream);
}

void squared_error(double* result, Array gradient, ConstArray prediction, ConstArray target, double gradient_factor,
                   Context context) {
  const SquaredErrors term{gradient.as<float>(), prediction.as<float>(), target.as<float>(),
                           static_cast<float>(gradient_factor)};
  total(result, term, prediction.count(), are_aligned(gradient.data, prediction.data, target.data), context);
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
