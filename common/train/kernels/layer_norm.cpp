#include "kernels/layer_norm.hpp"

#include "kernels/cpu/ops.hpp"
#include "kernels/device_call.hpp"

namespace lockstep::kernels {

namespace {

// [rows] and [columns] of `like`, float32.
void require_norm(std::string_view operation, const Tensor& like, const LayerNormStatistics& statistics,
                  const Tensor& gain, const Tensor& bias) {
  require_count(operation, "mean", statistics.mean, rows_of(like), DType::kFloat32);
  require_count(operation, "deviation", statistics.reciprocal_deviation, rows_of(like), DType::kFloat32);
  require_count(operation, "gain", gain, columns_of(like), DType::kFloat32);
  require_count(operation, "bias", bias, columns_of(like), DType::kFloat32);
}

DeviceNormStatistics arrays_of(const LayerNormStatistics& statistics) {
  return {array_of(statistics.mean), array_of(statistics.reciprocal_deviation)};
}

}  // namespace

LayerNormStatistics LayerNormStatistics::for_rows_of(const Tensor& input) {
  const Shape shape{rows_of(input)};
  const DType dtype = accumulation_dtype(input.dtype());
  return {Tensor::empty(shape, dtype, input.device()), Tensor::empty(shape, dtype, input.device())};
}

void layer_norm_forward(const Tensor& out, const LayerNormStatistics& statistics, const Tensor& input,
                        const Tensor& gain, const Tensor& bias, double epsilon) {
  constexpr std::string_view kName = "layer_norm_forward";
  if (is_on_cpu(kName, out, statistics.mean, statistics.reciprocal_deviation, input, gain, bias)) {
    return cpu::layer_norm_forward(out, statistics, input, gain, bias, epsilon);
  }
  require_like(kName, "input", input, out);
  require_norm(kName, out, statistics, gain, bias);
  const DeviceCall call(kName, out);
  call.ops().layer_norm_forward(array_of(out), arrays_of(statistics), array_of(input), array_of(gain), array_of(bias),
                                epsilon, call.context());
}

void add_layer_norm_forward(const Tensor& out, const Tensor& sum, const LayerNormStatistics& statistics,
                            const Tensor& a, const Tensor& b, const Tensor& gain, const Tensor& bias, double epsilon) {
  constexpr std::string_view kName = "add_layer_norm_forward";
  if (is_on_cpu(kName, out, sum, statistics.mean, statistics.reciprocal_deviation, a, b, gain, bias)) {
    return cpu::add_layer_norm_forward(out, sum, statistics, a, b, gain, bias, epsilon);
  }
  for (const Tensor* tensor : {&sum, &a, &b}) require_like(kName, "a term", *tensor, out);
  require_norm(kName, out, statistics, gain, bias);
  const DeviceCall call(kName, out);
  call.ops().add_layer_norm_forward(array_of(out), array_of(sum), arrays_of(statistics), array_of(a), array_of(b),
                                    array_of(gain), array_of(bias), epsilon, call.context());
}

void layer_norm_backward(const Tensor& input_gradient, const Tensor& out_gradient,
                         const LayerNormStatistics& statistics, const Tensor& input, const Tensor& gain,
                         const Tensor& gain_gradient, const Tensor& bias_gradient, Write parameter_write,
                         const Tensor& skip_gradient) {
  constexpr std::string_view kName = "layer_norm_backward";
  if (is_on_cpu(kName, input_gradient, out_gradient, statistics.mean, statistics.reciprocal_deviation, input, gain,
                gain_gradient, bias_gradient, skip_gradient)) {
    return cpu::layer_norm_backward(input_gradient, out_gradient, statistics, input, gain, gain_gradient, bias_gradient,
                                    parameter_write, skip_gradient);
  }
  require_like(kName, "out gradient", out_gradient, input_gradient);
  require_like(kName, "input", input, input_gradient);
  if (skip_gradient.is_defined()) require_like(kName, "skip gradient", skip_gradient, input_gradient);
  require_norm(kName, input, statistics, gain, gain);
  require_norm(kName, input, statistics, gain_gradient, bias_gradient);
  const DeviceCall call(kName, input_gradient);
  call.ops().layer_norm_backward(array_of(input_gradient), array_of(out_gradient), arrays_of(statistics),
                                 array_of(input), array_of(gain), array_of(gain_gradient), array_of(bias_gradient),
                                 parameter_write, array_of(skip_gradient), call.context());
}

}  // namespace lockstep::kernels
