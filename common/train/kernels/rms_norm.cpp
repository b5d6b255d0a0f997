#include "kernels/rms_norm.hpp"

#include "kernels/call.hpp"

namespace lockstep::kernels {

namespace {

void require_norm(const Call& call, const Tensor& like, const Tensor& reciprocal, const Tensor& gain) {
  call.require_count("reciprocal", reciprocal, rows_of(like), accumulation_dtype(like.dtype()));
  call.require_count("gain", gain, columns_of(like), accumulation_dtype(like.dtype()));
}

}  // namespace

void rms_norm_forward(const Tensor& out, const Tensor& reciprocal, const Tensor& input, const Tensor& gain,
                      double epsilon) {
  const Call call("rms_norm_forward", out, reciprocal, input, gain);
  call.require_like("input", input, out);
  require_norm(call, out, reciprocal, gain);
  call.run(&Operations::rms_norm_forward, out, reciprocal, input, gain, epsilon);
}

void rms_norm_backward(const Tensor& input_gradient, Write write, const Tensor& gain_gradient, Write gain_write,
                       const Tensor& out_gradient, const Tensor& reciprocal, const Tensor& input, const Tensor& gain) {
  const Call call("rms_norm_backward", input, input_gradient, gain_gradient, out_gradient, reciprocal, gain);
  call.require_like("input gradient", input_gradient, input);
  call.require_like("out gradient", out_gradient, input);
  require_norm(call, input, reciprocal, gain);
  if (gain_gradient.is_defined()) call.require_like("gain gradient", gain_gradient, gain);
  call.run(&Operations::rms_norm_backward, input_gradient, write, gain_gradient, gain_write, out_gradient, reciprocal,
           input, gain);
}

}  // namespace lockstep::kernels
