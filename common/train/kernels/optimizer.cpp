#include "kernels/optimizer.hpp"

#include <algorithm>
#include <cmath>

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

const std::int64_t* veto_of(std::string_view operation, const Tensor& veto) {
  if (!veto.is_defined()) return nullptr;
  require(veto.dtype() == DType::kInt64 && veto.count() == 1, operation, ": a veto is one int64, not ", veto.dtype(),
          " ", veto.shape());
  return static_cast<const std::int64_t*>(veto.const_data());
}

bool is_vetoed(const std::int64_t* veto) { return veto != nullptr && *veto != 0; }

void count_on_cpu(const Tensor& total, const Tensor& by_part, const Tensor& values, const Tensor& ends) {
  const std::span<const std::int64_t> limits = ends.span<std::int64_t>();
  const std::span<const float> elements = values.span<float>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (std::isfinite(elements[i])) continue;
    ++total.span<std::int64_t>()[0];
    const auto part = std::ranges::upper_bound(limits, static_cast<std::int64_t>(i));
    if (part != limits.end()) ++by_part.span<std::int64_t>()[static_cast<std::size_t>(part - limits.begin())];
  }
}

}  // namespace

void sgd_step(const Tensor& parameter, const Tensor& velocity, const Tensor& gradient, const SgdOptions& options,
              const Tensor& veto) {
  const std::int64_t* const is_refused = veto_of("sgd_step", veto);
  if (is_on_cpu("sgd_step", parameter, velocity, gradient, veto)) {
    if (is_vetoed(is_refused)) return;
    return sgd_step(span_of(parameter), span_of(velocity), span_of(gradient), options);
  }
  require_parameters("sgd_step", parameter);
  require_like("sgd_step", "gradient", gradient, parameter);
  if (velocity.is_defined()) require_like("sgd_step", "velocity", velocity, parameter);
  require(options.momentum == 0.0 || velocity.is_defined(), "sgd_step: momentum needs a velocity");
  const DeviceCall call("sgd_step", parameter);
  call.ops().sgd_step(array_of(parameter), array_of(velocity), array_of(gradient), options, is_refused, call.context());
}

void adam_step(const Tensor& parameter, const Tensor& first_moment, const Tensor& second_moment, const Tensor& gradient,
               const AdamOptions& options, const Tensor& veto) {
  const std::int64_t* const is_refused = veto_of("adam_step", veto);
  if (is_on_cpu("adam_step", parameter, first_moment, second_moment, gradient, veto)) {
    if (is_vetoed(is_refused)) return;
    return adam_step(span_of(parameter), span_of(first_moment), span_of(second_moment), span_of(gradient), options);
  }
  require_parameters("adam_step", parameter);
  for (const Tensor* tensor : {&first_moment, &second_moment, &gradient}) {
    require_like("adam_step", "moment or gradient", *tensor, parameter);
  }
  require(options.step >= 1, "adam_step: steps count from 1, not ", options.step);
  const DeviceCall call("adam_step", parameter);
  call.ops().adam_step(array_of(parameter), array_of(first_moment), array_of(second_moment), array_of(gradient),
                       AdamConstants(options), is_refused, call.context());
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

void count_non_finite_by_part(const Tensor& total, const Tensor& by_part, const Tensor& values, const Tensor& ends) {
  constexpr std::string_view kName = "count_non_finite_by_part";
  const bool is_here = is_on_cpu(kName, values, total, by_part, ends);
  require_parameters(kName, values);
  require_count(kName, "total", total, 1, DType::kInt64);
  require_count(kName, "by_part", by_part, by_part.count(), DType::kInt64);
  require_like(kName, "ends", ends, by_part);
  if (is_here) return count_on_cpu(total, by_part, values, ends);
  const DeviceCall call(kName, values);
  call.ops().count_non_finite_by_part(static_cast<std::int64_t*>(total.data()),
                                      static_cast<std::int64_t*>(by_part.data()), array_of(values),
                                      static_cast<const std::int64_t*>(ends.data()), ends.count(), call.context());
}

}  // namespace lockstep::kernels
