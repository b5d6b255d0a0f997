#include "kernels/rotary.hpp"

#include "kernels/cpu/ops.hpp"
#include "kernels/device_call.hpp"

namespace lockstep::kernels {

void rotary(const Tensor& out, Write write, const Tensor& input, const Tensor& cos, const Tensor& sin,
            Rotation rotation) {
  const bool is_here = is_on_cpu("rotary", out, input, cos, sin);
  require_like("rotary", "input", input, out);
  const Shape& shape = input.shape();
  require(shape.rank() >= 2 && shape[-1] % 2 == 0, "rotary: needs [..., T, D] with an even D, not ", shape);
  const std::int64_t angles = shape[-2] * (shape[-1] / 2);
  require(cos.shape() == sin.shape() && columns_of(cos) == shape[-1] / 2, "rotary: tables ", cos.shape(), " and ",
          sin.shape(), " do not fit ", shape);
  require_count("rotary", "cos", cos, angles, accumulation_dtype(input.dtype()));
  require_count("rotary", "sin", sin, angles, accumulation_dtype(input.dtype()));
  if (is_here) return cpu::rotary(out, write, input, cos, sin, rotation);
  const DeviceCall call("rotary", input);
  call.ops().rotary(array_of(out), write, array_to_read(input), array_to_read(cos), array_to_read(sin), rotation,
                    call.context());
}

}  // namespace lockstep::kernels
