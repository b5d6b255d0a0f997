// Parts and rearrangements of tensors, and broadcast shapes. One thread per element: it finds its four indices by
// division, whose cost the loads hide.
#include "kernels/cuda/launching.cuh"
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/sums.cuh"
#include "kernels/cuda/types.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

/// The offset of element i of a view's index space, counted row after row.
__device__ inline std::int64_t place_of(const StridedView& view, std::int64_t i) {
  std::int64_t place = view.offset;
#pragma unroll
  for (int axis = 3; axis >= 0; --axis) {
    place += i % view.sizes[axis] * view.strides[axis];
    i /= view.sizes[axis];
  }
  return place;
}

template <typename S>
struct CopyView {
  S* out;
  StridedView to;
  Write write;
  const S* input;
  StridedView from;

  template <int W>
  __device__ void run(std::int64_t i) const {
    static_assert(W == 1);
    write_pack(out, place_of(to, i), load<1>(input, place_of(from, i)), write);
  }
};

/// out = a + b, or (+)= a * b, with both broadcast.
template <typename S, bool kIsProduct>
struct Combine {
  S* out;
  Write write;
  const S *a, *b;
  StridedView a_view, b_view;

  template <int W>
  __device__ void run(std::int64_t i) const {
    static_assert(W == 1);
    Floats<1> values = load<1>(a, place_of(a_view, i));
    const float other = load<1>(b, place_of(b_view, i)).at[0];
    values.at[0] = kIsProduct ? values.at[0] * other : values.at[0] + other;
    write_pack(out, i, values, write);
  }
};

/// Like Combine, for a product of two arrays without broadcasting: whole packs, no divisions.
template <typename S>
struct Multiply {
  S* out;
  Write write;
  const S *a, *b;

  template <int W>
  __device__ void run(std::int64_t i) const {
    Floats<W> values = load<W>(a, i);
    const Floats<W> others = load<W>(b, i);
#pragma unroll
    for (int k = 0; k < W; ++k) values.at[k] *= others.at[k];
    write_pack(out, i, values, write);
  }
};

constexpr int kWarps = 8;

/// out[row] (+)= the sum of a row.
///
/// Launch: one block of kWarps warps per row; each thread adds every 256th element, then the block adds its threads'
/// sums. Traffic: reads the array once.
template <typename S>
__global__ void __launch_bounds__(kWarps* kWarpSize) sum_rows(S* out, Write write, const S* input, std::int64_t count) {
  __shared__ float partial[kWarps];
  const S* const row = input + std::int64_t{blockIdx.x} * count;
  float sum = 0.0F;
  for (std::int64_t i = threadIdx.x; i < count; i += kWarps * kWarpSize) sum += load<1>(row, i).at[0];
  sum = block_sum<kWarps>(sum, partial);
  if (threadIdx.x == 0) write_pack(out, blockIdx.x, Floats<1>{{sum}}, write);
}

/// out[o, i] (+)= the sum over r of input[o, r, i].
template <typename S>
struct SumColumns {
  S* out;
  Write write;
  const S* input;
  SumSizes sizes;

  template <int W>
  __device__ void run(std::int64_t i) const {
    static_assert(W == 1);
    const S* const from = input + i / sizes.inner * sizes.count * sizes.inner + i % sizes.inner;
    float sum = 0.0F;
    for (std::int64_t row = 0; row < sizes.count; ++row) sum += load<1>(from, row * sizes.inner).at[0];
    write_pack(out, i, Floats<1>{{sum}}, write);
  }
};

}  // namespace

void copy_view(Array out, const StridedView& to, Write write, ConstArray input, const StridedView& from,
               Context context) {
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    map_single(CopyView<S>{out.as<S>(), to, write, input.as<S>(), from}, to.count(), context.stream);
  });
}

void add_broadcast(Array out, ConstArray a, const StridedView& a_view, ConstArray b, const StridedView& b_view,
                   Context context) {
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    const Combine<S, false> sum{out.as<S>(), Write::kOverwrite, a.as<S>(), b.as<S>(), a_view, b_view};
    map_single(sum, out.count(), context.stream);
  });
}

void multiply(Array out, Write write, ConstArray a, const StridedView& a_view, ConstArray b, const StridedView& b_view,
              Context context) {
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    if (a.count() == out.count() && b.count() == out.count()) {
      const Multiply<S> product{out.as<S>(), write, a.as<S>(), b.as<S>()};
      map<S>(product, out.count(), are_aligned(out.data, a.data, b.data), context.stream);
    } else {
      const Combine<S, true> product{out.as<S>(), write, a.as<S>(), b.as<S>(), a_view, b_view};
      map_single(product, out.count(), context.stream);
    }
  });
}

void sum_axis(Array out, Write write, ConstArray input, const SumSizes& sizes, Context context) {
  if (out.count() == 0) return;
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    if (sizes.inner == 1) {
      cuda_check(launch(sum_rows<S>, dim3(static_cast<unsigned int>(sizes.outer)), dim3(kWarps * kWarpSize), 0,
                        context.stream, out.as<S>(), write, input.as<S>(), sizes.count));
    } else {
      map_single(SumColumns<S>{out.as<S>(), write, input.as<S>(), sizes}, out.count(), context.stream);
    }
  });
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
