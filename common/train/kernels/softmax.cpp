#include "kernels/softmax.hpp"

#include "kernels/call.hpp"

namespace lockstep::kernels {

void softmax_forward(const Tensor& out, const Tensor& input) {
  const Call call("softmax_forward", out, input);
  call.require_like("input", input, out);
  call.run(&Operations::softmax_forward, out, input);
}

void softmax_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& out) {
  const Call call("softmax_backward", out, input_gradient, out_gradient);
  call.require_like("out gradient", out_gradient, out);
  call.require_like("input gradient", input_gradient, out);
  call.run(&Operations::softmax_backward, input_gradient, write, out_gradient, out);
}

}  // namespace lockstep::kernels
