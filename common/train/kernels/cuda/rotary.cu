// Rotary positions: one thread per pair of elements. Letters: T positions, D elements per row.
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/types.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

template <typename S>
struct Rotate {
  S* out;
  Write write;
  const S* input;
  const float *cos, *sin;  // [T, D/2]
  float sign;              // -1: backward
  std::int64_t pairs, angles;

  template <int W>
  __device__ void run(std::int64_t i) const {  // pair i % pairs of row i / pairs
    static_assert(W == 1);
    const std::int64_t first = i / pairs * 2 * pairs + i % pairs, second = first + pairs;
    const float c = cos[i % angles], s = sin[i % angles] * sign;
    const float x = load<1>(input, first).at[0], y = load<1>(input, second).at[0];
    write_pack(out, first, Floats<1>{{x * c - y * s}}, write);
    write_pack(out, second, Floats<1>{{y * c + x * s}}, write);
  }
};

}  // namespace

void rotary(Array out, Write write, ConstArray input, ConstArray cos, ConstArray sin, Rotation rotation,
            Context context) {
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    const Rotate<S> operation{.out = out.as<S>(),
                              .write = write,
                              .input = input.as<S>(),
                              .cos = cos.as<float>(),
                              .sin = sin.as<float>(),
                              .sign = rotation == Rotation::kForward ? 1.0F : -1.0F,
                              .pairs = input.columns / 2,
                              .angles = cos.count()};
    map_single(operation, input.count() / 2, context.stream);
  });
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
