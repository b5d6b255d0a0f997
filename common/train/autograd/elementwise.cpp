// Operations on one element at a time.
#include "kernels/elementwise.hpp"

#include "autograd/autocast.hpp"
#include "autograd/broadcast.hpp"
#include "autograd/dropout_site.hpp"
#include "autograd/functions.hpp"
#include "autograd/in_place.hpp"
#include "autograd/node.hpp"
#include "kernels/dropout.hpp"
#include "kernels/views.hpp"

namespace lockstep::autograd {
namespace {

// The sum of two shapes or types.
Variable add_broadcast(const Variable& given_a, const Variable& given_b) {
  const auto [a, b] = with_common_type(given_a, given_b);
  const Tensor left = a.value(), right = b.value();
  const Tensor sum = empty_broadcast(left, right);
  kernels::add_broadcast(sum, left, right);
  return record(sum, {a, b}, [a = a.without_value(), b = b.without_value()](const Tensor& d_sum) {
    for (const Variable& term : {a, b}) {
      if (term.requires_grad()) term.accumulate_gradient(sum_to(d_sum, term.node()->shape));
    }
  });
}

}  // namespace

Variable add(Variable a, const Variable& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return add_broadcast(a, b);
  Tensor sum = output_for(a);
  const Tensor left = a.value(), right = b.value();
  kernels::add(sum, left, right);
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
