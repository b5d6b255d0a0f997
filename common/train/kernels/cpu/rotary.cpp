#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/operations.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/types.hpp"

namespace lockstep::kernels::cpu {

void rotary(Array out, Write write, ConstArray input, ConstArray cos, ConstArray sin, Rotation rotation, Context) {
  if (input.count() == 0) return;
  on_storage_type(out, [&]<typename S, typename T>() {
    const std::int64_t positions = cos.rows, pairs = input.columns / 2;
    S* const to = out.as<S>();
    const S* const from = input.as<S>();
    const T *const cosines = cos.as<T>(), *const sines = sin.as<T>();
    const T sign = rotation == Rotation::kForward ? T{1} : T{-1};
    parallel_blocks(input.rows, 16, input.count(), [=](std::int64_t begin, std::int64_t end) {
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
