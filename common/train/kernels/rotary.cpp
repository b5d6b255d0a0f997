#include "kernels/rotary.hpp"

#include "kernels/call.hpp"

namespace lockstep::kernels {

void rotary(const Tensor& out, Write write, const Tensor& input, const Tensor& cos, const Tensor& sin,
            Rotation rotation) {
  const Call call("rotary", input, out, cos, sin);
  call.require_like("input", input, out);
  const Shape& shape = input.shape();
  require(shape.rank() >= 2 && shape[-1] % 2 == 0, "rotary: needs [..., T, D] with an even D, not ", shape);
  const std::int64_t angles = shape[-2] * (shape[-1] / 2);
  require(cos.shape() == sin.shape() && columns_of(cos) == shape[-1] / 2, "rotary: tables ", cos.shape(), " and ",
          sin.shape(), " do not fit ", shape);
  call.require_count("cos", cos, angles, accumulation_dtype(input.dtype()));
  call.require_count("sin", sin, angles, accumulation_dtype(input.dtype()));
  call.run(&Operations::rotary, out, write, input, cos, sin, rotation);
}

}  // namespace lockstep::kernels
