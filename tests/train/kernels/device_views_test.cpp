#include <array>

#include "kernels/device_testing.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/matmul.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/rotary.hpp"
#include "kernels/softmax.hpp"
#include "kernels/views.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

/// The matrix that the host's functions hand to a device: rows are all dimensions but the last.
Array as_stored(Array array, const Tensor& tensor) {
  array.columns = tensor.shape().rank() == 0 ? 1 : tensor.shape()[-1];
  array.rows = array.columns == 0 ? 0 : tensor.count() / array.columns;
  return array;
}

}  // namespace

TEST_CASE("device views copy what the CPU's do", "[kernels][gpu]") {
  const Shape shape{2, 3, 5, 33};
  for (const DType dtype : kStoredTypes) {
    TestDevice device;
    const Tensor x = random_stored(dtype, shape, 1);
    const Array input = device.put(x);
    for (const auto& [from, sizes] : {std::pair(transposed_view(shape, 1, 2), Shape{2, 5, 3, 33}),
                                      std::pair(transposed_view(shape, 2, 3), Shape{2, 3, 33, 5}),
                                      std::pair(narrowed_view(shape, 3, 7, 26), Shape{2, 3, 5, 26}),
                                      std::pair(broadcast_view({1, 1, 5, 33}, shape), shape)}) {
      const Tensor out = random_stored(dtype, sizes, 2), expected = doubled(out);
      const Array result = device.put(out);
      for (const Write write : {Write::kAdd, Write::kOverwrite}) {
        device.ops().copy_view(result, view_of(sizes), write, input, from, device.context());
        copy_view(expected, view_of(sizes), write, doubled(x), from);
        CHECK(worst_error(device.get(result), expected) <= (write == Write::kAdd ? roundoff_of(dtype) : 0.0));
      }
    }
    const Tensor part = random_stored(dtype, {2, 3, 5, 26}, 3), sums = doubled(x);  // into a part of the output
    const StridedView place = narrowed_view(shape, 3, 7, 26);
    device.ops().copy_view(input, place, Write::kAdd, device.put(part), view_of(part.shape()), device.context());
    copy_view(sums, place, Write::kAdd, doubled(part), view_of(part.shape()));
    CHECK(worst_error(device.get(input), sums) <= roundoff_of(dtype));
  }
}

TEST_CASE("device sums and products of repeated shapes agree with float64", "[kernels][gpu]") {
  const Shape full{2, 3, 5, 33};
  for (const DType dtype : kStoredTypes) {
    for (const Shape& other : {full, Shape{33}, Shape{5, 1}, Shape{2, 1, 1, 33}, Shape{}}) {
      TestDevice device;
      const Tensor a = random_stored(dtype, full, 1), b = random_stored(dtype, other, 2);
      const Tensor before = random_stored(dtype, full, 3), expected = doubled(before);
      const StridedView a_view = view_of(full), b_view = broadcast_view(other, full);
      const Array left = device.put(a), right = device.put(b), out = device.put(before);
      device.ops().multiply(out, Write::kAdd, left, a_view, right, b_view, device.context());
      multiply(expected, Write::kAdd, doubled(a), doubled(b));
      CHECK(worst_error(device.get(out), expected) <= 3 * roundoff_of(dtype) * 16);  // products below 16
      device.ops().add_broadcast(out, left, a_view, right, b_view, device.context());
      add_broadcast(expected, doubled(a), doubled(b));
      CHECK(worst_error(device.get(out), expected) <= 2 * roundoff_of(dtype));
    }
  }
}

TEST_CASE("device sums over a dimension agree with float64", "[kernels][gpu]") {
  for (const DType dtype : kStoredTypes) {
    for (const Shape& shape : {Shape{3, 33}, Shape{2, 1030}, Shape{70, 5}, Shape{1, 1}}) {
      for (const int axis : {0, 1}) {
        TestDevice device;
        const Tensor x = random_stored(dtype, shape, 1), before = random_stored(dtype, {shape[1 - axis]}, 2);
        const Tensor expected = doubled(before);
        const Array out = device.put(before);
        const SumSizes sizes = axis == 0 ? SumSizes{1, shape[0], shape[1]} : SumSizes{shape[0], shape[1], 1};
        device.ops().sum_axis(out, Write::kAdd, device.put(x), sizes, device.context());
        sum_axis(expected, Write::kAdd, doubled(x), axis);
        // n elements of order 1: n roundings of a sum of about sqrt(n), then the store.
        const auto n = static_cast<double>(shape[axis]);
        CHECK(worst_error(device.get(out), expected) <= 4 * n * std::sqrt(n) * 0x1p-24 + roundoff_of(dtype));
      }
    }
  }
}

TEST_CASE("device softmax and its gradient agree with float64, masks included", "[kernels][gpu]") {
  for (const DType dtype : kStoredTypes) {
    for (const auto& [R, C] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {9, 33}, {3, 64}, {17, 1030}}) {
      TestDevice device;
      const Tensor scores = random_tensor<float>({R, C}, 1, 3.0);
      if (C > 1) scores.span<float>()[1] = -INFINITY;
      const Tensor x = Tensor::empty({R, C}, dtype), dy = random_stored(dtype, {R, C}, 2);
      cast(x, scores);
      const Tensor expected = Tensor::empty({R, C}, DType::kFloat64);
      const Array out = device.make(x);
      device.ops().softmax_forward(out, device.put(x), device.context());
      softmax_forward(expected, doubled(x));
      // Exponents up to 20 carry a roundoff of 20, and a sum of C exponentials C / 32 + 5.
      const double bound = (64 + static_cast<double>(C) / 16) * 0x1p-24 + roundoff_of(dtype);
      CHECK(worst_error(device.get(out), expected) <= bound);
      const Tensor stored = device.get(out), before = random_stored(dtype, {R, C}, 3), sums = doubled(before);
      const Array gradient = device.put(before);
      device.ops().softmax_backward(gradient, Write::kAdd, device.put(dy), out, device.context());
      softmax_backward(sums, Write::kAdd, doubled(dy), doubled(stored));
      CHECK(worst_error(device.get(gradient), sums) <= 8 * bound);  // gradients up to 4, of which a sum is subtracted
    }
  }
}

TEST_CASE("device rms_norm and its gradients agree with float64", "[kernels][gpu]") {
  for (const DType dtype : kStoredTypes) {
    for (const auto& [R, C] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {9, 33}, {3, 64}, {130, 7}}) {
      TestDevice device;
      const Tensor x = random_stored(dtype, {R, C}, 1), dy = random_stored(dtype, {R, C}, 2);
      const Tensor gain = random_tensor<float>({C}, 3), before = random_tensor<float>({C}, 4);
      const Tensor expected = Tensor::empty({R, C}, DType::kFloat64), factors = Tensor::empty({R}, DType::kFloat64);
      const Array out = device.make(x), reciprocal = device.make(Tensor::empty({R}));
      const Array input = device.put(x), gains = device.put(gain), to_gain = device.put(before);
      device.ops().rms_norm_forward(out, reciprocal, input, gains, 1e-2, device.context());
      rms_norm_forward(expected, factors, doubled(x), doubled(gain), 1e-2);
      // With epsilon 0.01 a factor is at most 10; a sum of C squares has C / 32 + 8 roundings, a gradient one of R
      // rows.
      const double bound = 10 * (32 + static_cast<double>(C) + static_cast<double>(R)) * 0x1p-24;
      CHECK(worst_error(device.get(out), expected) <= bound + roundoff_of(dtype));
      CHECK(worst_error(device.get(reciprocal), factors) <= bound);
      const Tensor gain_sums = doubled(before), old = random_stored(dtype, {R, C}, 5), sums = doubled(old);
      const Array gradient = device.put(old);
      device.ops().rms_norm_backward(gradient, Write::kAdd, to_gain, Write::kAdd, device.put(dy), reciprocal, input,
                                     gains, device.context());
      rms_norm_backward(sums, Write::kAdd, gain_sums, Write::kAdd, doubled(dy), factors, doubled(x), doubled(gain));
      CHECK(worst_error(device.get(gradient), sums) <= 16 * bound + roundoff_of(dtype));
      CHECK(worst_error(device.get(to_gain), gain_sums) <= 16 * bound);
      device.ops().rms_norm_backward(gradient, Write::kOverwrite, {}, Write::kAdd, device.put(dy), reciprocal, input,
                                     gains, device.context());  // without the gain's
      rms_norm_backward(sums, Write::kOverwrite, {}, Write::kAdd, doubled(dy), factors, doubled(x), doubled(gain));
      CHECK(worst_error(device.get(gradient), sums) <= 16 * bound + roundoff_of(dtype));
    }
  }
}

TEST_CASE("device rotary positions agree with float64, both ways", "[kernels][gpu]") {
  for (const DType dtype : kStoredTypes) {
    TestDevice device;
    const Tensor x = random_stored(dtype, {3, 5, 38}, 1), cos = random_tensor<float>({5, 19}, 2),
                 sin = random_tensor<float>({5, 19}, 3);
    const Tensor before = random_stored(dtype, x.shape(), 4), expected = doubled(before);
    const Array out = device.put(before), input = device.put(x), c = device.put(cos), s = device.put(sin);
    for (const Write write : {Write::kAdd, Write::kOverwrite}) {
      for (const Rotation rotation : {Rotation::kForward, Rotation::kBackward}) {
        device.ops().rotary(out, write, input, c, s, rotation, device.context());
        rotary(expected, write, doubled(x), doubled(cos), doubled(sin), rotation);
      }
      CHECK(worst_error(device.get(out), expected) <= 4 * 16 * roundoff_of(dtype));  // two products below 16 each
    }
  }
}

TEST_CASE("device exp and SiLU agree with float64", "[kernels][gpu]") {
  for (const DType dtype : kStoredTypes) {
    for (const std::int64_t count : {1, 33, 1030}) {
      TestDevice device;
      const Tensor x = random_stored(dtype, {count}, 1, 2.0), dy = random_stored(dtype, {count}, 2);
      const Tensor expected = Tensor::empty({count}, DType::kFloat64);
      const Array out = device.make(x), input = device.put(x);
      // An exponent of up to 8 carries 8 roundoffs; a slope of SiLU has five operations more.
      const double bound = 16 * 0x1p-24 + roundoff_of(dtype);
      device.ops().exp_forward(out, input, device.context());
      exp_forward(expected, doubled(x));
      CHECK(worst_error(device.get(out), expected) <= bound);
      device.ops().silu_forward(out, input, device.context());
      silu_forward(expected, doubled(x));
      CHECK(worst_error(device.get(out), expected) <= bound);
      device.ops().silu_backward(out, Write::kAdd, device.put(dy), input, device.context());
      silu_backward(expected, Write::kAdd, doubled(dy), doubled(x));
      CHECK(worst_error(device.get(out), expected) <= 4 * bound);
    }
  }
}

TEST_CASE("device batched products agree with float64 in all four layouts", "[kernels][gpu]") {
  for (const DType dtype : kStoredTypes) {
    for (const Transpose a_transpose : {Transpose::kNo, Transpose::kYes}) {
      for (const Transpose b_transpose : {Transpose::kNo, Transpose::kYes}) {
        TestDevice device;
        const Tensor a = random_stored(dtype, a_transpose == Transpose::kYes ? Shape{6, 5, 4} : Shape{6, 4, 5}, 1);
        const Tensor b = random_stored(dtype, b_transpose == Transpose::kYes ? Shape{6, 7, 5} : Shape{6, 5, 7}, 2);
        const Tensor before = random_stored(dtype, {6, 4, 7}, 3), expected = doubled(before);
        const Array out = device.put(before);
        device.ops().batched_matmul(as_stored(out, before), as_stored(device.put(a), a), a_transpose,
                                    as_stored(device.put(b), b), b_transpose, 6, Write::kAdd, device.context());
        batched_matmul(expected, doubled(a), a_transpose, doubled(b), b_transpose, Write::kAdd);
        // Five products below 16 each, and the sum's store.
        CHECK(worst_error(device.get(out), expected) <= 6 * 16 * 0x1p-24 + roundoff_of(dtype));
      }
    }
  }
}
