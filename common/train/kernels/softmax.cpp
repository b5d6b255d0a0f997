#include "kernels/softmax.hpp"

#include "kernels/cpu/ops.hpp"
#include "kernels/device_call.hpp"

namespace lockstep::kernels {

void softmax_forward(const Tensor& out, const Tensor& input) {
  if (is_on_cpu("softmax_forward", out, input)) return cpu::softmax_forward(out, input);
  require_like("softmax_forward", "input", input, out);
  const DeviceCall call("softmax_forward", out);
  call.ops().softmax_forward(array_of(out), array_to_read(input), call.context());
}

void softmax_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& out) {
  if (is_on_cpu("softmax_backward", input_gradient, out_gradient, out)) {
    return cpu::softmax_backward(input_gradient, write, out_gradient, out);
  }
  require_like("softmax_backward", "out gradient", out_gradient, out);
  require_like("softmax_backward", "input gradient", input_gradient, out);
  const DeviceCall call("softmax_backward", out);
  call.ops().softmax_backward(array_of(input_gradient), write, array_to_read(out_gradient), array_to_read(out),
                              call.context());
}

}  // namespace lockstep::kernels
