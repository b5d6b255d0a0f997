#include <limits>

#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/operations.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/types.hpp"

namespace lockstep::kernels::cpu {

namespace {

constexpr std::int64_t kRows = 16;  // per task

/// Sets the unused lanes to `neutral`: a load of fewer lanes fills them with zeros.
template <typename T, typename Lanes>
Vector<T> only(Vector<T> values, Lanes lanes, T neutral) {
  if constexpr (std::is_same_v<Lanes, int>) {
    return lane_numbers<T>() < static_cast<T>(lanes) ? values : Vector<T>{} + neutral;
  } else {
    return values;
  }
}

template <typename S>
void softmax_row(S* out, const S* input, std::int64_t columns) {
  using T = Compute<S>;
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  Vector<T> largest_of_lanes = Vector<T>{} + kLowest;
  for_each_vector<T>(columns, [&](std::int64_t c, auto lanes) {
    largest_of_lanes = larger<T>(largest_of_lanes, only<T>(load(input + c, lanes), lanes, kLowest));
  });
  const T largest = largest_of<T>(largest_of_lanes);
  Vector<T> sums{};
  for_each_vector<T>(columns, [&](std::int64_t c, auto lanes) {
    sums += only<T>(fast_exp(load(input + c, lanes) - largest), lanes, T{0});
  });
  const T factor = T{1} / sum_of<T>(sums);
  for_each_vector<T>(columns, [&](std::int64_t c, auto lanes) {  // recomputed, so that bfloat16 is rounded once
    store(out + c, fast_exp(load(input + c, lanes) - largest) * factor, lanes);
  });
}

template <typename S>
void softmax_gradient_row(S* input_gradient, Write write, const S* out_gradient, const S* out, std::int64_t columns) {
  using T = Compute<S>;
  Vector<T> products{};
  for_each_vector<T>(
      columns, [&](std::int64_t c, auto lanes) { products += load(out_gradient + c, lanes) * load(out + c, lanes); });
  const T dot = sum_of<T>(products);
  for_each_vector<T>(columns, [&](std::int64_t c, auto lanes) {
    const Vector<T> gradient = load(out + c, lanes) * (load(out_gradient + c, lanes) - dot);
    store(input_gradient + c, write == Write::kAdd ? load(input_gradient + c, lanes) + gradient : gradient, lanes);
  });
}

}  // namespace

void softmax_forward(Array out, ConstArray input, Context) {
  on_storage_type(out, [&]<typename S, typename>() {
    S* const to = out.as<S>();
    const S* const from = input.as<S>();
    parallel_blocks(out.rows, kRows, out.count(), [=, columns = out.columns](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) softmax_row(to + row * columns, from + row * columns, columns);
    });
  });
}

void softmax_backward(Array input_gradient, Write write, ConstArray out_gradient, ConstArray out, Context) {
  on_storage_type(out, [&]<typename S, typename>() {
    S* const to = input_gradient.as<S>();
    const S *const dy = out_gradient.as<S>(), *const y = out.as<S>();
    parallel_blocks(out.rows, kRows, out.count(), [=, columns = out.columns](std::int64_t begin, std::int64_t end) {
      for (std::int64_t first = begin * columns; first < end * columns; first += columns) {
        softmax_gradient_row(to + first, write, dy + first, y + first, columns);
      }
    });
  });
}

}  // namespace lockstep::kernels::cpu
