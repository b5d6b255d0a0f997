#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/check.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/parallel.hpp"

namespace lockstep::kernels::cpu {

namespace {

constexpr std::int64_t kBlock = 1024;  // elements that one single-precision partial sum covers

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
template <bool kStore, typename S, typename T = Compute<S>>
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
void row_losses(std::string_view operation, const Tensor& losses, const Tensor& logits, const Tensor& targets,
                double gradient_scale) {
  on_device_and_storage_type(operation, logits, [&](auto zero) {
    using S = decltype(zero);
    using T = Compute<S>;
    const std::int64_t rows = rows_of(logits), vocabulary = columns_of(logits);
    require_count(operation, "losses", losses, rows, accumulation_dtype(logits.dtype()));
    require_targets(operation, targets, rows, vocabulary);
    T* const to = data_of<T>(losses);
    S* const from = data_of<S>(logits);
    const std::int32_t* const ids = data_of<std::int32_t>(targets);
    parallel_tasks(rows, logits.count(), [=](std::int64_t row) {
      to[row] = row_loss<kGradient>(from + row * vocabulary, vocabulary, ids[row], gradient_scale);
    });
  });
}

}  // namespace

void require_targets(std::string_view operation, const Tensor& targets, std::int64_t rows, std::int64_t vocabulary) {
  require_count(operation, "targets", targets, rows, DType::kInt32);
  const std::span<const std::int32_t> ids = targets.span<std::int32_t>();
  for (std::size_t row = 0; row < ids.size(); ++row) {
    require(ids[row] == kIgnoredTarget || (ids[row] >= 0 && ids[row] < vocabulary), operation, ": target ", ids[row],
            " of row ", row, " is not in [0, ", vocabulary, ")");
  }
}

void softmax_cross_entropy(const Tensor& losses, const Tensor& logits, const Tensor& targets, double gradient_scale) {
  row_losses<true>("softmax_cross_entropy", losses, logits, targets, gradient_scale);
}

void cross_entropy_loss(const Tensor& losses, const Tensor& logits, const Tensor& targets) {
  row_losses<false>("cross_entropy_loss", losses, logits, targets, 0.0);
}

double mean_squared_error(const Tensor& prediction_gradient, const Tensor& prediction, const Tensor& target,
                          double gradient_scale) {
  double total = 0;
  on_device_and_type("mean_squared_error", prediction, [&](auto zero) {
    using T = decltype(zero);
    require_like("mean_squared_error", "target", target, prediction);
    const std::int64_t count = prediction.count();
    const T *const y = data_of<T>(prediction), *const wanted = data_of<T>(target);
    for (std::int64_t i = 0; i < count; ++i) {
      const double difference = static_cast<double>(y[i] - wanted[i]);
      total += difference * difference;
    }
    if (!prediction_gradient.is_defined()) return;
    require_like("mean_squared_error", "gradient", prediction_gradient, prediction);
    T* const gradient = data_of<T>(prediction_gradient);
    const T factor = static_cast<T>(2.0 * gradient_scale / static_cast<double>(count));
    for (std::int64_t i = 0; i < count; ++i) gradient[i] = factor * (y[i] - wanted[i]);
  });
  return total / static_cast<double>(std::max<std::int64_t>(1, prediction.count()));  // empty: 0
}

}  // namespace lockstep::kernels::cpu
