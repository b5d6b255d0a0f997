#include "kernels/rms_norm.hpp"

#include "kernels/cpu/ops.hpp"
#include "kernels/device_call.hpp"

namespace lockstep::kernels {

void rms_norm_forward(const Tensor& out, const Tensor& reciprocal, const Tensor& input, const Tensor& gain,
                      double epsilon) {
  constexpr std::string_view kName = "rms_norm_forward";
  if (is_on_cpu(kName, out, reciprocal, input, gain)) {
    return cpu::rms_norm_forward(out, reciprocal, input, gain, epsilon);
  }
  require_like(kName, "input", input, out);
  require_count(kName, "reciprocal", reciprocal, rows_of(out), DType::kFloat32);
  require_count(kName, "gain", gain, columns_of(out), DType::kFloat32);
  const DeviceCall call(kName, out);
  call.ops().rms_norm_forward(array_of(out), array_of(reciprocal), array_to_read(input), array_to_read(gain), epsilon,
                              call.context());
}

void rms_norm_backward(const Tensor& input_gradient, Write write, const Tensor& gain_gradient, Write gain_write,
                       const Tensor& out_gradient, const Tensor& reciprocal, const Tensor& input, const Tensor& gain) {
  constexpr std::string_view kName = "rms_norm_backward";
  if (is_on_cpu(kName, input_gradient, gain_gradient, out_gradient, reciprocal, input, gain)) {
    return cpu::rms_norm_backward(input_gradient, write, gain_gradient, gain_write, out_gradient, reciprocal, input,
                                  gain);
  }
  require_like(kName, "input gradient", input_gradient, input);
  require_like(kName, "out gradient", out_gradient, input);
  require_count(kName, "reciprocal", reciprocal, rows_of(input), DType::kFloat32);
  require_count(kName, "gain", gain, columns_of(input), DType::kFloat32);
  if (gain_gradient.is_defined()) require_like(kName, "gain gradient", gain_gradient, gain);
  const DeviceCall call(kName, input);
  call.ops().rms_norm_backward(array_of(input_gradient), write, array_of(gain_gradient), gain_write,
                               array_to_read(out_gradient), array_to_read(reciprocal), array_to_read(input),
                               array_to_read(gain), call.context());
}

}  // namespace lockstep::kernels
