#include "kernels/optimizer.hpp"

#include <initializer_list>

#include "kernels/call.hpp"
#include "kernels/cpu/operations.hpp"

namespace lockstep::kernels {

namespace {

void require_sizes(std::string_view operation, std::size_t expected, std::initializer_list<std::size_t> sizes) {
  for (const std::size_t size : sizes) {
    require(size == expected, operation, ": ", size, " elements beside ", expected, " parameters");
  }
}

void require_momentum(const SgdOptions& options, bool has_velocity) {
  require(options.momentum == 0.0 || has_velocity, "sgd_step: momentum needs a velocity");
}

void require_step(const AdamOptions& options) {
  require(options.step >= 1, "adam_step: steps count from 1, not ", options.step);
}

void require_parameters(const Call& call, const Tensor& parameter) {
  require(parameter.dtype() == DType::kFloat32, call.operation(), ": updates float32, not ", parameter.dtype());
}

const std::int64_t* veto_of(const Call& call, const Tensor& veto) {
  if (!veto.is_defined()) return nullptr;
  require(veto.dtype() == DType::kInt64 && veto.count() == 1, call.operation(), ": a veto is one int64, not ",
          veto.dtype(), " ", veto.shape());
  return static_cast<const std::int64_t*>(veto.const_data());
}

Array array_of(std::span<float> values) {
  return {values.data(), 1, static_cast<std::int64_t>(values.size()), DType::kFloat32};
}

ConstArray array_of(std::span<const float> values) {
  return {values.data(), 1, static_cast<std::int64_t>(values.size()), DType::kFloat32};
}

}  // namespace

void sgd_step(std::span<float> parameter, std::span<float> velocity, std::span<const float> gradient,
              const SgdOptions& options) {
  require_sizes("sgd_step", parameter.size(), {gradient.size(), velocity.empty() ? parameter.size() : velocity.size()});
  require_momentum(options, velocity.size() == parameter.size());
  cpu::sgd_step(array_of(parameter), array_of(velocity), array_of(gradient), options, nullptr, {});
}

void sgd_step(const Tensor& parameter, const Tensor& velocity, const Tensor& gradient, const SgdOptions& options,
              const Tensor& veto) {
  const Call call(Types::kAll, "sgd_step", parameter, velocity, gradient, veto);
  require_parameters(call, parameter);
  call.require_like("gradient", gradient, parameter);
  if (velocity.is_defined()) call.require_like("velocity", velocity, parameter);
  require_momentum(options, velocity.is_defined());
  call.run(&Operations::sgd_step, parameter, velocity, gradient, options, veto_of(call, veto));
}

void adam_step(std::span<float> parameter, std::span<float> first_moment, std::span<float> second_moment,
               std::span<const float> gradient, const AdamOptions& options) {
  require_sizes("adam_step", parameter.size(), {first_moment.size(), second_moment.size(), gradient.size()});
  require_step(options);
  cpu::adam_step(array_of(parameter), array_of(first_moment), array_of(second_moment), array_of(gradient),
                 AdamConstants(options), nullptr, {});
}

void adam_step(const Tensor& parameter, const Tensor& first_moment, const Tensor& second_moment, const Tensor& gradient,
               const AdamOptions& options, const Tensor& veto) {
  const Call call(Types::kAll, "adam_step", parameter, first_moment, second_moment, gradient, veto);
  require_parameters(call, parameter);
  for (const Tensor* tensor : {&first_moment, &second_moment, &gradient}) {
    call.require_like("moment or gradient", *tensor, parameter);
  }
  require_step(options);
  call.run(&Operations::adam_step, parameter, first_moment, second_moment, gradient, AdamConstants(options),
           veto_of(call, veto));
}

double squared_norm(std::span<const float> values) {
  double result = 0;
  cpu::squared_norm(&result, array_of(values), {});
  return result;
}

double squared_norm(std::span<const Tensor> tensors) {
  if (tensors.empty()) return 0;
  Call call(Types::kAll, "squared_norm", tensors.front());
  double* const results = call.results(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    call.require_same_device(tensors.front(), tensors[i]);
    require_parameters(call, tensors[i]);
    call.run(&Operations::squared_norm, results + i, tensors[i]);
  }
  double total = 0;
  for (const double squares : call.read_results()) total += squares;
  return total;
}

void scale(std::span<float> values, double factor) { cpu::scale(array_of(values), factor, {}); }

bool is_finite(std::span<const float> values) {
  double bad = 0;
  cpu::count_non_finite(&bad, array_of(values), {});
  return bad == 0.0;
}

bool is_finite(const Tensor& values) {
  Call call(Types::kAll, "is_finite", values);
  require_parameters(call, values);
  call.run(&Operations::count_non_finite, call.results(1), values);
  return call.read_results().front() == 0.0;
}

void count_non_finite_by_part(const Tensor& total, const Tensor& by_part, const Tensor& values, const Tensor& ends) {
  const Call call(Types::kAll, "count_non_finite_by_part", values, total, by_part, ends);
  require_parameters(call, values);
  call.require_count("total", total, 1, DType::kInt64);
  call.require_count("by_part", by_part, by_part.count(), DType::kInt64);
  call.require_like("ends", ends, by_part);
  call.run(&Operations::count_non_finite_by_part, total, by_part, values, ends);
}

}  // namespace lockstep::kernels
