#include "kernels/loss.hpp"

#include <algorithm>

#include "kernels/cpu/ops.hpp"
#include "kernels/device_call.hpp"
#include "kernels/matmul.hpp"

namespace lockstep::kernels {

namespace {

// The kernels check that targets are in range: DeviceFaults.
void require_rows(std::string_view operation, const Tensor& losses, const Tensor& logits, const Tensor& targets) {
  require_count(operation, "losses", losses, rows_of(logits), DType::kFloat32);
  require_count(operation, "targets", targets, rows_of(logits), DType::kInt32);
}

std::int64_t divide_up(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

/// A view of rows [begin, end) of `tensor` seen as a matrix.
Tensor matrix_rows(const Tensor& tensor, std::int64_t begin, std::int64_t end) {
  return tensor.reshape({rows_of(tensor), columns_of(tensor)}).rows(begin, end);
}

}  // namespace

void softmax_cross_entropy(const Tensor& losses, const Tensor& logits, const Tensor& targets, double gradient_scale) {
  if (is_on_cpu("softmax_cross_entropy", losses, logits, targets)) {
    return cpu::softmax_cross_entropy(losses, logits, targets, gradient_scale);
  }
  require_rows("softmax_cross_entropy", losses, logits, targets);
  const DeviceCall call("softmax_cross_entropy", logits);
  call.ops().softmax_cross_entropy(array_of(losses), array_of(logits), array_of(targets), gradient_scale,
                                   call.context());
}

void cross_entropy_loss(const Tensor& losses, const Tensor& logits, const Tensor& targets) {
  if (is_on_cpu("cross_entropy_loss", losses, logits, targets)) {
    return cpu::cross_entropy_loss(losses, logits, targets);
  }
  require_rows("cross_entropy_loss", losses, logits, targets);
  const DeviceCall call("cross_entropy_loss", logits);
  call.ops().cross_entropy_loss(array_of(losses), array_of(logits), array_of(targets), call.context());
}

std::int64_t rows_of_logits(std::int64_t rows, std::int64_t channels, std::int64_t vocabulary, DType dtype) noexcept {
  constexpr std::int64_t kLeastBytes = 16 << 20, kMostBytes = 128 << 20, kTimesInput = 8, kRowMultiple = 64;
  const auto element_bytes = static_cast<std::int64_t>(bytes_of(dtype));
  const std::int64_t bytes = std::clamp(kTimesInput * rows * channels * element_bytes, kLeastBytes, kMostBytes);
  const std::int64_t row_bytes = std::max<std::int64_t>(1, vocabulary) * element_bytes;
  if (rows <= bytes / row_bytes) return rows;
  // Chunks of one size: a short one at the end would make its products slow. The most rows are a multiple too, so that
  // rounding up does not exceed them.
  const std::int64_t most_rows = std::max(kRowMultiple, bytes / row_bytes / kRowMultiple * kRowMultiple);
  const std::int64_t chunk_count = divide_up(rows, most_rows);
  return std::min(rows, divide_up(divide_up(rows, chunk_count), kRowMultiple) * kRowMultiple);
}

void linear_cross_entropy(const Tensor& losses, const Tensor& input_gradient, const Tensor& weight_gradient,
                          Write weight_write, const Tensor& input, const Tensor& weight, const Tensor& targets,
                          double gradient_scale) {
  require(input_gradient.is_defined() == weight_gradient.is_defined(),
          "linear_cross_entropy: give both gradients or none");
  const std::int64_t rows = rows_of(input), vocabulary = rows_of(weight);
  require_count("linear_cross_entropy", "losses", losses, rows, accumulation_dtype(input.dtype()));
  if (is_on_cpu("linear_cross_entropy", losses, input, weight, targets)) {
    cpu::require_targets("linear_cross_entropy", targets, rows, vocabulary);  // before chunks count rows from 0
  }
  const std::int64_t chunk =
      std::max<std::int64_t>(1, rows_of_logits(rows, columns_of(input), vocabulary, input.dtype()));
  const Tensor scratch = Tensor::empty({std::min(rows, chunk), vocabulary}, input.dtype(), input.device());
  for (std::int64_t begin = 0; begin < rows; begin += chunk) {
    const std::int64_t end = std::min(rows, begin + chunk);
    const Tensor logits = scratch.rows(0, end - begin);    // [rows, V]
    const Tensor hidden = matrix_rows(input, begin, end);  // [rows, C]
    const Tensor chunk_losses = losses.reshape({rows}).rows(begin, end);
    const Tensor chunk_targets = targets.reshape({rows}).rows(begin, end);
    matmul(logits, hidden, Transpose::kNo, weight, Transpose::kYes);
    if (!input_gradient.is_defined()) {
      cross_entropy_loss(chunk_losses, logits, chunk_targets);
      continue;
    }
    softmax_cross_entropy(chunk_losses, logits, chunk_targets, gradient_scale);
    matmul(matrix_rows(input_gradient, begin, end), logits, Transpose::kNo, weight, Transpose::kNo);
    matmul(weight_gradient, logits, Transpose::kYes, hidden, Transpose::kNo, begin == 0 ? weight_write : Write::kAdd);
  }
  if (rows == 0 && weight_gradient.is_defined() && weight_write == Write::kOverwrite) weight_gradient.fill_zero();
}

double sum(const Tensor& values) {
  if (is_on_cpu("sum", values)) return cpu::sum(values);
  require(values.dtype() == DType::kFloat32, "sum: needs float32, not ", values.dtype());
  DeviceCall call("sum", values);
  call.ops().sum(call.results(1), array_of(values), call.context());
  return call.read_results().front();
}

double mean_squared_error(const Tensor& prediction_gradient, const Tensor& prediction, const Tensor& target,
                          double gradient_scale) {
  if (is_on_cpu("mean_squared_error", prediction, prediction_gradient, target)) {
    return cpu::mean_squared_error(prediction_gradient, prediction, target, gradient_scale);
  }
  require(prediction.dtype() == DType::kFloat32, "mean_squared_error: needs float32, not ", prediction.dtype());
  require_like("mean_squared_error", "target", target, prediction);
  if (prediction_gradient.is_defined()) {
    require_like("mean_squared_error", "gradient", prediction_gradient, prediction);
  }
  const auto count = static_cast<double>(std::max<std::int64_t>(1, prediction.count()));  // empty: 0
  DeviceCall call("mean_squared_error", prediction);
  call.ops().squared_error(call.results(1), array_of(prediction_gradient), array_of(prediction), array_of(target),
                           2.0 * gradient_scale / count, call.context());
  return call.read_results().front() / count;
}

}  // namespace lockstep::kernels
