#include "kernels/loss.hpp"

#include <algorithm>

#include "kernels/call.hpp"
#include "kernels/matmul.hpp"

namespace lockstep::kernels {

namespace {

/// Targets on a device are compared with V by the kernels: DeviceFaults.
void require_targets(const Call& call, const Tensor& targets, std::int64_t rows, std::int64_t vocabulary) {
  call.require_count("targets", targets, rows, DType::kInt32);
  if (!call.is_on_cpu()) return;
  const std::span<const std::int32_t> ids = targets.span<std::int32_t>();
  for (std::size_t row = 0; row < ids.size(); ++row) {
    require(ids[row] == kIgnoredTarget || (ids[row] >= 0 && ids[row] < vocabulary), call.operation(), ": target ",
            ids[row], " of row ", row, " is not in [0, ", vocabulary, ")");
  }
}

void require_rows(const Call& call, const Tensor& losses, const Tensor& logits, const Tensor& targets) {
  call.require_count("losses", losses, rows_of(logits), accumulation_dtype(logits.dtype()));
  require_targets(call, targets, rows_of(logits), columns_of(logits));
}

std::int64_t divide_up(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

/// A view of rows [begin, end) of `tensor` seen as a matrix.
Tensor matrix_rows(const Tensor& tensor, std::int64_t begin, std::int64_t end) {
  return tensor.reshape({rows_of(tensor), columns_of(tensor)}).rows(begin, end);
}

}  // namespace

void softmax_cross_entropy(const Tensor& losses, const Tensor& logits, const Tensor& targets, double gradient_scale) {
  const Call call("softmax_cross_entropy", logits, losses, targets);
  require_rows(call, losses, logits, targets);
  call.run(&Operations::softmax_cross_entropy, losses, logits, targets, gradient_scale);
}

void cross_entropy_loss(const Tensor& losses, const Tensor& logits, const Tensor& targets) {
  const Call call("cross_entropy_loss", logits, losses, targets);
  require_rows(call, losses, logits, targets);
  call.run(&Operations::cross_entropy_loss, losses, logits, targets);
}

namespace {

/// @return  `part`, with the size of the vocabulary.
VocabularyPart require_statistics(const Call& call, const Tensor& statistics, const Tensor& logits,
                                  const Tensor& targets, const VocabularyPart& part) {
  call.require_count("statistics", statistics, 3 * rows_of(logits), accumulation_dtype(logits.dtype()));
  const VocabularyPart checked = call.part_of_vocabulary(part, columns_of(logits));
  require_targets(call, targets, rows_of(logits), checked.whole);
  return checked;
}

}  // namespace

void cross_entropy_statistics(const Tensor& statistics, const Tensor& logits, const Tensor& targets,
                              const VocabularyPart& part) {
  const Call call("cross_entropy_statistics", logits, statistics, targets);
  const VocabularyPart checked = require_statistics(call, statistics, logits, targets, part);
  call.run(&Operations::cross_entropy_statistics, statistics, logits, targets, checked);
}

void cross_entropy_gradient(const Tensor& logits, const Tensor& statistics, const Tensor& targets,
                            const VocabularyPart& part, double gradient_scale) {
  const Call call("cross_entropy_gradient", logits, statistics, targets);
  const VocabularyPart checked = require_statistics(call, statistics, logits, targets, part);
  call.run(&Operations::cross_entropy_gradient, logits, statistics, targets, checked, gradient_scale);
}

namespace {

/// Bounds of the logits that the head holds at a time.
struct LogitsBounds {
  std::int64_t least_bytes, most_bytes, times_input;
};
constexpr LogitsBounds kOnCpu{16 << 20, 128 << 20, 8}, kOnGpu{512 << 20, std::int64_t{2} << 30, 16};

}  // namespace

std::int64_t rows_of_logits(std::int64_t rows, std::int64_t channels, std::int64_t vocabulary, DType dtype,
                            DeviceType device) noexcept {
  constexpr std::int64_t kRowMultiple = 64;
  const LogitsBounds& bounds = device == DeviceType::kCpu ? kOnCpu : kOnGpu;
  const auto element_bytes = static_cast<std::int64_t>(bytes_of(dtype));
  const std::int64_t bytes =
      std::clamp(bounds.times_input * rows * channels * element_bytes, bounds.least_bytes, bounds.most_bytes);
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
  const Call call("linear_cross_entropy", input, losses, weight, targets);
  call.require_count("losses", losses, rows, accumulation_dtype(input.dtype()));
  require_targets(call, targets, rows, vocabulary);  // before chunks count rows from 0
  const std::int64_t chunk = std::max<std::int64_t>(
      1, rows_of_logits(rows, columns_of(input), vocabulary, input.dtype(), input.device().type));
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
  Call call(Types::kWide, "sum", values);
  call.run(&Operations::sum, call.results(1), values);
  return call.read_results().front();
}

double mean_squared_error(const Tensor& prediction_gradient, const Tensor& prediction, const Tensor& target,
                          double gradient_scale) {
  Call call(Types::kWide, "mean_squared_error", prediction, prediction_gradient, target);
  call.require_like("target", target, prediction);
  if (prediction_gradient.is_defined()) call.require_like("gradient", prediction_gradient, prediction);
  const auto count = static_cast<double>(std::max<std::int64_t>(1, prediction.count()));  // empty: 0
  call.run(&Operations::squared_error, call.results(1), prediction_gradient, prediction, target,
           2.0 * gradient_scale / count);
  return call.read_results().front() / count;
}

}  // namespace lockstep::kernels
