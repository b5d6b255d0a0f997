#include "kernels/loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/cpu/operations.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/types.hpp"

namespace lockstep::kernels::cpu {

namespace {

constexpr std::int64_t kBlock = 1024;  // elements that one partial sum, in the type of the arithmetic, covers

template <typename S, typename T = Compute<S>>
T largest_element(const S* values, std::int64_t count) {
  Vector<T> largest = Vector<T>{} - std::numeric_limits<T>::infinity();
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) largest = larger<T>(largest, load(values + i));
  T rest = largest_of<T>(largest);
  for (; i < count; ++i) rest = widened(values[i]) > rest ? widened(values[i]) : rest;
  return rest;
}

/// The sum of e^(x - shift) over a row; with kStore each element is replaced by its exponential.
template <bool kStore, typename S, typename T = Compute<std::remove_const_t<S>>>
double sum_of_exponentials(S* row, std::int64_t count, T shift) {
  double total = 0;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    S* const block = row + begin;
    Vector<T> sums{};
    for_each_vector<T>(std::min(kBlock, count - begin), [&](std::int64_t i, auto lanes) {
      Vector<T> values = fast_exp(load(block + i, lanes) - shift);
      if constexpr (kStore) store(block + i, values, lanes);
      if constexpr (std::is_same_v<decltype(lanes), int>) values = lane_numbers<T>() < T(lanes) ? values : Vector<T>{};
      sums += values;
    });
    total += static_cast<double>(sum_of<T>(sums));
  }
  return total;
}

/// Turns a row of exponentials into a row of gradients, rounding each element once.
template <typename T>
void finish_gradient(T* row, std::int64_t count, std::int32_t target, T, T factor, T gradient_scale) {
  for (std::int64_t i = 0; i < count; ++i) row[i] *= factor;
  row[target] -= gradient_scale;
}

/// The same from the logits: exponentials stored in bfloat16 would be rounded twice.
void finish_gradient(BFloat16* row, std::int64_t count, std::int32_t target, float largest, float factor,
                     float gradient_scale) {
  const float of_target = fast_exp(to_float(row[target]) - largest) * factor - gradient_scale;
  for_each_vector<float>(count, [=](std::int64_t i, auto lanes) {
    store(row + i, fast_exp(load(row + i, lanes) - largest) * factor, lanes);
  });
  row[target] = to_bfloat16(of_target);
}

/// The loss of one row; with kGradient the row is replaced by its gradient.
template <bool kGradient, typename S, typename T = Compute<S>>
T row_loss(S* row, std::int64_t vocabulary, std::int32_t target, double gradient_scale) {
  if (target == kIgnoredTarget) {
    if constexpr (kGradient) std::fill_n(row, vocabulary, S{});
    return T{0};
  }
  const T largest = largest_element(row, vocabulary);
  const double target_logit = static_cast<double>(widened(row[target]));
  constexpr bool kKeepExponentials = kGradient && std::is_same_v<S, T>;
  const double total = sum_of_exponentials<kKeepExponentials>(row, vocabulary, largest);
  if constexpr (kGradient) {
    finish_gradient(row, vocabulary, target, largest, static_cast<T>(gradient_scale / total),
                    static_cast<T>(gradient_scale));
  }
  return static_cast<T>(std::log(total) + (static_cast<double>(largest) - target_logit));
}

template <bool kGradient>
void row_losses(Array losses, Array logits, ConstArray targets, double gradient_scale) {
  on_storage_type(logits, [&]<typename S, typename T>() {
    T* const to = losses.as<T>();
    S* const from = logits.as<S>();
    const std::int32_t* const ids = targets.as<std::int32_t>();
    parallel_tasks(logits.rows, logits.count(), [=, vocabulary = logits.columns](std::int64_t row) {
      to[row] = row_loss<kGradient>(from + row * vocabulary, vocabulary, ids[row], gradient_scale);
    });
  });
}

/// Replaces this rank's columns of a row of logits by their gradient. Exponentials are computed from the logits, so
/// that each element is rounded once. @param target  Column, counted from this rank's first; out of range if another
/// rank has it.
template <typename S, typename T = Compute<S>>
void write_gradient(S* row, std::int64_t count, std::int64_t target, T largest, T factor, T gradient_scale) {
  const bool is_here = target >= 0 && target < count;
  const T of_target =
      is_here ? static_cast<T>(fast_exp(widened(row[target]) - largest)) * factor - gradient_scale : T{0};
  for_each_vector<T>(count, [=](std::int64_t i, auto lanes) {
    store(row + i, fast_exp(load(row + i, lanes) - largest) * factor, lanes);
  });
  if (!is_here) return;
  if constexpr (std::is_same_v<S, T>) {
    row[target] = of_target;
  } else {
    row[target] = to_bfloat16(of_target);
  }
}

}  // namespace

void cross_entropy_statistics(Array statistics, ConstArray logits, ConstArray targets, const VocabularyPart& part,
                              Context) {
  on_storage_type(logits, [&]<typename S, typename T>() {
    T* const to = statistics.as<T>();
    const S* const from = logits.as<S>();
    const std::int32_t* const ids = targets.as<std::int32_t>();
    parallel_tasks(logits.rows, logits.count(), [=, columns = logits.columns, first = part.first](std::int64_t row) {
      T* const own = to + 3 * row;
      std::fill_n(own, 3, T{0});
      if (ids[row] == kIgnoredTarget) return;
      const S* const x = from + row * columns;
      const std::int64_t target = ids[row] - first;
      own[0] = largest_element(x, columns);
      own[1] = static_cast<T>(sum_of_exponentials<false>(x, columns, own[0]));
      if (target >= 0 && target < columns) own[2] = widened(x[target]);
    });
  });
}

void cross_entropy_gradient(Array logits, ConstArray statistics, ConstArray targets, const VocabularyPart& part,
                            double gradient_scale, Context) {
  on_storage_type(logits, [&]<typename S, typename T>() {
    S* const to = logits.as<S>();
    const T* const from = statistics.as<T>();
    const std::int32_t* const ids = targets.as<std::int32_t>();
    parallel_tasks(logits.rows, logits.count(), [=, columns = logits.columns, first = part.first](std::int64_t row) {
      S* const x = to + row * columns;
      if (ids[row] == kIgnoredTarget) {
        std::fill_n(x, columns, S{});
        return;
      }
      const T largest = from[3 * row], sum = from[3 * row + 1];
      write_gradient(x, columns, ids[row] - first, largest, static_cast<T>(gradient_scale / static_cast<double>(sum)),
                     static_cast<T>(gradient_scale));
    });
  });
}

void softmax_cross_entropy(Array losses, Array logits, ConstArray targets, double gradient_scale, Context) {
  row_losses<true>(losses, logits, targets, gradient_scale);
}

void cross_entropy_loss(Array losses, Array logits, ConstArray targets, Context) {
  row_losses<false>(losses, logits, targets, 0.0);
}

}  // namespace lockstep::kernels::cpu
