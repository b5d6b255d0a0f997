#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/check.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/parallel.hpp"

namespace lockstep::kernels::cpu {

void rotary(const Tensor& out, Write write, const Tensor& input, const Tensor& cos, const Tensor& sin,
            Rotation rotation) {
  on_device_and_storage_type("rotary", out, [&](auto zero) {
    using S = decltype(zero);
    using T = Compute<S>;
    const std::int64_t positions = input.shape()[-2], pairs = input.shape()[-1] / 2;
    S* const to = data_of<S>(out);
    const S* const from = data_of<const S>(input);
    const T *const cosines = data_of<const T>(cos), *const sines = data_of<const T>(sin);
    const T sign = rotation == Rotation::kForward ? T{1} : T{-1};
    parallel_blocks(rows_of(input), 16, input.count(), [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const S *const x = from + 2 * row * pairs, *const y = x + pairs;
        S *const new_x = to + 2 * row * pairs, *const new_y = new_x + pairs;
        for_each_vector<T>(pairs, [=, first = row % positions * pairs](std::int64_t i, auto lanes) {
          const Vector<T> c = load(cosines + first + i, lanes), s = load(sines + first + i, lanes) * sign;
          const Vector<T> a = load(x + i, lanes), b = load(y + i, lanes);
          const Vector<T> turned_a = a * c - b * s, turned_b = b * c + a * s;
          const bool is_added = write == Write::kAdd;
          store(new_x + i, is_added ? load(new_x + i, lanes) + turned_a : turned_a, lanes);
          store(new_y + i, is_added ? load(new_y + i, lanes) + turned_b : turned_b, lanes);
        });
      }
    });
  });
}

}  // namespace lockstep::kernels::cpu
