#include "kernels/optimizer.hpp"

#include "kernels/device_call.hpp"

namespace lockstep::kernels {

namespace {

void require_parameters(std::string_view operation, const Tensor& parameter) {
  require(parameter.is_defined() && parameter.dtype() == DType::kFloat32, operation, ": updates float32, not ",
          parameter.dtype());
}

std::span<float> span_of(const Tensor& tensor) {
  return tensor.is_defined() ? tensor.span<float>() : std::span<float>();
}

}  // namespace

void sgd_step(const Tensor& parameter, const Tensor& velocity, const Tensor& gradient, const SgdOptions& options) {
  if (is_on_cpu("sgd_step", parameter, velocity, gradient)) {
    return sgd_step(span_of(parameter), span_of(velocity), span_of(gradient), options);
  }
  require_parameters("sgd_step", parameter);
  require_like("sgd_step", "gradient", gradient, parameter);
  if (velocity.is_defined()) require_like("sgd_step", "velocity", velocity, parameter);
  require(options.momentum == 0.0 || velocity.is_defined(), "sgd_step: momentum needs a velocity");
  const DeviceCall call("sgd_step", parameter);
  call.ops().sgd_step(array_of(parameter), array_of(velocity), array_of(gradient), options, call.context());
}

void adam_step(const Tensor& parameter, const Tensor& first_moment, const Tensor& second_moment, const Tensor& gradient,
               const AdamOptions& options) {
  if (is_on_cpu("adam_step", parameter, first_moment, second_moment, gradient)) {
    return adam_step(span_of(parameter), span_of(first_moment), span_of(second_moment), span_of(gradient), options);
  }
  require_parameters("adam_step", parameter);
  for (const Tensor* tensor : {&first_moment, &second_moment, &gradient}) {
    require_like("adam_step", "moment or gradient", *tensor, parameter);
  }
  require(options.step >= 1, "adam_step: steps count from 1, not ", options.step);
  const DeviceCall call("adam_step", parameter);
  call.ops().adam_step(array_of(parameter), array_of(first_moment), array_of(second_moment), array_of(gradient),
                       AdamConstants(options), call.context());
}

double squared_norm(std::span<const Tensor> tensors) {
  double total = 0;
  if (tensors.empty() || is_on_cpu("squared_norm", tensors.front())) {
    for (const Tensor& tensor : tensors) total += squared_norm(span_of(tensor));
    return total;
  }
  DeviceCall call("squared_norm", tensors.front());
  double* const results = call.results(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    (void)is_on_cpu("squared_norm", tensors.front(), tensors[i]);
    require_parameters("squared_norm", tensors[i]);
    call.ops().squared_norm(results + i, array_of(tensors[i]), call.context());
  }
  for (const double squares : call.read_results()) total += squares;
  return total;
}

bool is_finite(const Tensor& values) {
  if (is_on_cpu("is_finite", values)) return is_finite(span_of(values));
  require_parameters("is_finite", values);
  DeviceCall call("is_finite", values);
  call.ops().count_non_finite(call.results(1), array_of(values), call.context());
  return call.read_results().front() == 0.0;
}

}  // namespace lockstep::kernels
