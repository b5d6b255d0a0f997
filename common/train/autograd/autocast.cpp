#include "autograd/autocast.hpp"

#include <utility>

#include "autograd/node.hpp"
#include "kernels/elementwise.hpp"

namespace lockstep::autograd {
namespace {

thread_local MixedPrecision current_precision = MixedPrecision::kNo;

Tensor converted(const Tensor& tensor, DType dtype) {
  Tensor result = Tensor::empty(tensor.shape(), dtype, tensor.device());
  kernels::cast(result, tensor);
  return result;
}

}  // namespace

Autocast::Autocast(MixedPrecision precision) noexcept : outer_(std::exchange(current_precision, precision)) {}
Autocast::~Autocast() { current_precision = outer_; }
MixedPrecision autocast_precision() noexcept { return current_precision; }
bool is_autocast_enabled() noexcept { return current_precision != MixedPrecision::kNo; }

DType activation_dtype(DType parameter_dtype) noexcept {
  if (!is_autocast_enabled() || parameter_dtype != DType::kFloat32) return parameter_dtype;
  return current_precision == MixedPrecision::kFp16 ? DType::kFloat16 : DType::kBFloat16;
}

Tensor weight_for_product(const Variable& weight, DType dtype) {
  const Tensor& value = weight.value();
  if (!is_reduced_float(dtype) || value.dtype() == dtype) return value;
  if (!weight.is_parameter()) return converted(value, dtype);
  Variable::Node& node = *weight.node();
  const Storage& storage = *value.storage();
  const bool has_type = node.rounded && node.rounded->tensor.is_defined() && node.rounded->tensor.dtype() == dtype;
  if (has_type && node.rounded_at == storage.write_accesses()) return node.rounded->tensor;
  // A graph whose backward has not run yet keeps the copy it was recorded with.
  if (!has_type || node.rounded.use_count() > 1 || !is_exclusive(node.rounded->tensor)) {
    node.rounded = std::make_shared<RoundedWeight>(RoundedWeight{Tensor::empty(value.shape(), dtype, value.device())});
  }
  kernels::cast(node.rounded->tensor, value);
  node.rounded_at = storage.write_accesses();
  return node.rounded->tensor;
}

SavedWeight::SavedWeight(const Variable& weight, const Tensor& used)
    : weight_(weight.without_value()), dtype_(used.dtype()) {
  if (!weight.is_parameter()) {
    kept_ = used;
  } else if (used.dtype() != weight.dtype()) {
    rounded_ = weight.node()->rounded;
  }
}

Tensor SavedWeight::get() const {
  if (kept_.is_defined()) return kept_;
  if (rounded_ && rounded_->tensor.is_defined()) return rounded_->tensor;
  return weight_for_product(weight_, dtype_);
}

Variable cast(const Variable& input, DType dtype) {
  if (input.value().dtype() == dtype) return input;
  return record(converted(input.value(), dtype), {input}, [input = input.without_value()](const Tensor& d_output) {
    input.accumulate_gradient(converted(d_output, input.node()->dtype));
  });
}

Variable product_operand(const Variable& input) { return cast(input, activation_dtype(input.value().dtype())); }

}  // namespace lockstep::autograd
