// Operations on one element at a time.
#include "kernels/elementwise.hpp"

#include "autograd/autocast.hpp"
#include "autograd/dropout_site.hpp"
#include "autograd/functions.hpp"
#include "autograd/node.hpp"
#include "kernels/dropout.hpp"

namespace lockstep::autograd {
namespace {

// Where an element-wise operation on `input` may put its result: the input's own memory if nobody else holds it.
Tensor output_for(const Variable& input) {
  const Tensor& value = input.value();
  const bool is_parameter = input.requires_grad() && input.node()->is_parameter;
  return is_parameter ? Tensor::empty(value.shape(), value.dtype(), value.device()) : reuse_or_allocate(value);
}

// Calls kernel(d_input, write): in the output gradient's own memory for a first contribution, else adding.
template <typename Kernel>
void write_elementwise_gradient(const Variable& input, const Tensor& d_output, const Kernel& kernel) {
  if (input.has_gradient()) {
    const auto [d_input, write] = input.begin_gradient_write();
    kernel(d_input, write);
  } else {
    Tensor d_input = reuse_or_allocate(d_output);
    kernel(d_input, GradientWrite::kOverwrite);
    input.accumulate_gradient(std::move(d_input));
  }
}

}  // namespace

Variable add(Variable a, const Variable& b) {
  const DType a_type = a.value().dtype(), b_type = b.value().dtype();
  if (a_type != b_type && a_type != DType::kFloat64 && b_type != DType::kFloat64) {  // to the wider type, as PyTorch
    return add(cast(a, kernels::accumulation_dtype(a_type)), cast(b, kernels::accumulation_dtype(b_type)));
  }
  Tensor sum = output_for(a);
  kernels::add(sum, a.value(), b.value());
  return record(sum, {a, b}, [a = a.without_value(), b = b.without_value()](Tensor d_sum) {
    if (a.requires_grad()) a.accumulate_gradient(d_sum);
    if (b.requires_grad()) b.accumulate_gradient(std::move(d_sum));
  });
}

Variable relu(Variable input) {
  Tensor output = output_for(input);
  kernels::relu_forward(output, input.value());
  return record(output, {input}, [input = input.without_value(), output](const Tensor& d_output) {
    write_elementwise_gradient(input, d_output, [&](const Tensor& d_input, GradientWrite write) {
      kernels::relu_backward(d_input, write, d_output, output);
    });
  });
}

Variable gelu(const Variable& input) {
  const Tensor& x = input.value();
  Tensor output = Tensor::empty(x.shape(), x.dtype(), x.device());
  kernels::gelu_forward(output, x);
  return record(output, {input}, [input](const Tensor& d_output) {
    write_elementwise_gradient(input, d_output, [&](const Tensor& d_input, GradientWrite write) {
      kernels::gelu_backward(d_input, write, d_output, input.value());
    });
  });
}

Variable dropout(Variable input, const kernels::DropoutMask& mask) {
  if (!mask.is_active()) return input;
  Tensor output = output_for(input);
  kernels::dropout_forward(output, input.value(), mask);
  return record(output, {input}, [input = input.without_value(), site = DropoutSite(mask)](const Tensor& d_output) {
    write_elementwise_gradient(input, d_output, [&](const Tensor& d_input, GradientWrite write) {
      kernels::dropout_backward(d_input, write, d_output, site.mask());
    });
  });
}

}  // namespace lockstep::autograd
