#include "kernels/layer_norm.hpp"

#include "kernels/call.hpp"

namespace lockstep::kernels {

namespace {

// [rows] and [columns] of `like`.
void require_norm(const Call& call, const Tensor& like, const LayerNormStatistics& statistics, const Tensor& gain,
                  const Tensor& bias) {
  const DType dtype = accumulation_dtype(like.dtype());
  call.require_count("mean", statistics.mean, rows_of(like), dtype);
  call.require_count("deviation", statistics.reciprocal_deviation, rows_of(like), dtype);
  call.require_count("gain", gain, columns_of(like), dtype);
  call.require_count("bias", bias, columns_of(like), dtype);
}

}  // namespace

LayerNormStatistics LayerNormStatistics::for_rows_of(const Tensor& input) {
  const Shape shape{rows_of(input)};
  const DType dtype = accumulation_dtype(input.dtype());
  return {Tensor::empty(shape, dtype, input.device()), Tensor::empty(shape, dtype, input.device())};
}

void layer_norm_forward(const Tensor& out, const LayerNormStatistics& statistics, const Tensor& input,
                        const Tensor& gain, const Tensor& bias, double epsilon) {
  const auto& [mean, deviation] = statistics;
  const Call call("layer_norm_forward", out, mean, deviation, input, gain, bias);
  call.require_like("input", input, out);
  require_norm(call, out, statistics, gain, bias);
  call.run(&Operations::layer_norm_forward, out, mean, deviation, input, gain, bias, epsilon);
}

void add_layer_norm_forward(const Tensor& out, const Tensor& sum, const LayerNormStatistics& statistics,
                            const Tensor& a, const Tensor& b, const Tensor& gain, const Tensor& bias, double epsilon) {
  const auto& [mean, deviation] = statistics;
  const Call call("add_layer_norm_forward", out, sum, mean, deviation, a, b, gain, bias);
  for (const Tensor* tensor : {&sum, &a, &b}) call.require_like("a term", *tensor, out);
  require_norm(call, out, statistics, gain, bias);
  call.run(&Operations::add_layer_norm_forward, out, sum, mean, deviation, a, b, gain, bias, epsilon);
}

void layer_norm_backward(const Tensor& input_gradient, const Tensor& out_gradient,
                         const LayerNormStatistics& statistics, const Tensor& input, const Tensor& gain,
                         const Tensor& gain_gradient, const Tensor& bias_gradient, Write parameter_write,
                         const Tensor& skip_gradient) {
  const auto& [mean, deviation] = statistics;
  const Call call("layer_norm_backward", input_gradient, out_gradient, mean, deviation, input, gain, gain_gradient,
                  bias_gradient, skip_gradient);
  call.require_like("out gradient", out_gradient, input_gradient);
  call.require_like("input", input, input_gradient);
  if (skip_gradient.is_defined()) call.require_like("skip gradient", skip_gradient, input_gradient);
  require_norm(call, input, statistics, gain, gain);
  require_norm(call, input, statistics, gain_gradient, bias_gradient);
  call.run(&Operations::layer_norm_backward, input_gradient, out_gradient, mean, deviation, input, gain, gain_gradient,
           bias_gradient, parameter_write, skip_gradient);
}

}  // namespace lockstep::kernels
