#include "kernels/device_testing.hpp"
#include "kernels/elementwise.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

const std::vector<std::int64_t> kCounts{1, 31, 33, 65, 1030};

/// Calls body(dtype, count, skipped): whole packs and rests, aligned and not.
template <typename Body>
void for_each_case(const Body& body) {
  for (const DType dtype : kStoredTypes) {
    for (const std::int64_t count : kCounts) {
      for (const std::int64_t skipped : {0, 1}) body(dtype, count, skipped);
    }
  }
}

/// Random elements with infinities and a NaN among them.
Tensor special(DType dtype, std::int64_t count, std::uint64_t key) {
  const Tensor values = random_tensor<float>({count}, key, 2.0);
  put_special_values(values);
  const Tensor stored = Tensor::empty({count}, dtype);
  cast(stored, values);
  return stored;
}

}  // namespace

TEST_CASE("device sums, scales and relu agree with float64", "[kernels][gpu]") {
  for_each_case([](DType dtype, std::int64_t count, std::int64_t skipped) {
    TestDevice device;
    const Tensor x = special(dtype, count, 1), y = random_stored(dtype, {count}, 2);
    const Tensor wide_x = doubled(x), wide_y = doubled(y), expected = Tensor::empty({count}, DType::kFloat64);
    const Array a = device.put(x, skipped), b = device.put(y, skipped), out = device.make(x, skipped);
    const double bound = 3 * roundoff_of(dtype);  // a product, a sum and the store round
    device.ops().add(out, a, b, device.context());
    add(expected, wide_x, wide_y);
    CHECK(worst_error(device.get(out), expected) <= bound);
    device.ops().relu_forward(out, a, device.context());
    relu_forward(expected, wide_x);
    CHECK(worst_error(device.get(out), expected) <= bound);
    device.ops().relu_backward(out, Write::kAdd, b, a, device.context());
    relu_backward(expected, Write::kAdd, wide_y, wide_x);
    CHECK(worst_error(device.get(out), expected) <= bound);
    device.ops().add_scaled(b, 0.3, a, device.context());
    add_scaled(wide_y, static_cast<double>(0.3F), wide_x);
    CHECK(worst_error(device.get(b), wide_y) <= bound);
    device.ops().scale(a, -1.7, device.context());
    scale(wide_x, static_cast<double>(-1.7F));
    CHECK(worst_error(device.get(a), wide_x) <= bound);
  });
}

TEST_CASE("device GELU and its gradients agree with float64", "[kernels][gpu]") {
  for_each_case([](DType dtype, std::int64_t count, std::int64_t skipped) {
    TestDevice device;
    const Tensor x = random_stored(dtype, {count}, 3, 3.0), dy = random_stored(dtype, {count}, 4);
    const Tensor wide_x = doubled(x), wide_dy = doubled(dy), expected = Tensor::empty({count}, DType::kFloat64);
    const Array input = device.put(x, skipped), gradient = device.put(dy, skipped), out = device.make(x, skipped);
    // |x| up to 12: the exponent of the gate carries 3 roundoffs of up to 2 |x| (1 + 0.045 x^2) ~ 100, but the gate
    // turns an error of the exponent u into one of u e^-u, below 1; the slope adds ten operations of order |x| at most.
    const double bound = dtype == DType::kFloat32 ? 128 * 0x1p-24 : 4 * roundoff_of(dtype);
    device.ops().gelu_forward(out, input, device.context());
    gelu_forward(expected, wide_x);
    CHECK(worst_error(device.get(out), expected) <= bound);
    device.ops().gelu_backward(out, Write::kAdd, gradient, input, device.context());
    gelu_backward(expected, Write::kAdd, wide_dy, wide_x);
    CHECK(worst_error(device.get(out), expected) <= 2 * bound);
    device.ops().gelu_backward_again(out, gradient, input, device.context());
    gelu_backward_again(expected, wide_dy, wide_x);
    CHECK(worst_error(device.get(out), expected) <= bound);
    CHECK(worst_error(device.get(gradient), wide_dy) <= 2 * bound);
  });
}

TEST_CASE("device GELU lets NaN and infinity through", "[kernels][gpu]") {
  TestDevice device;
  const Tensor x = special(DType::kFloat32, 33, 5);
  const Array out = device.make(x);
  device.ops().gelu_forward(out, device.put(x), device.context());
  const Tensor result = device.get(out);
  CHECK(std::isnan(result.span<float>()[0]));
  CHECK(result.span<float>()[10] == std::numeric_limits<float>::infinity());
  CHECK(std::isfinite(result.span<float>()[1]));
}

TEST_CASE("device casts round as the CPU does, to the bit", "[kernels][gpu]") {
  // The largest numbers and, in float16, the smallest ones are beyond the range.
  const DType dtype = GENERATE(DType::kBFloat16, DType::kFloat16);
  const double deviation = GENERATE(1e3, 1e5, 1e-6);
  for (const std::int64_t count : kCounts) {
    for (const std::int64_t skipped : {0, 1}) {
      TestDevice device;
      const Tensor x = random_tensor<float>({count}, 6, deviation);
      if (count > 20) x.span<float>()[3] = std::numeric_limits<float>::infinity();
      const Tensor narrow = Tensor::empty({1, count}, dtype), wide = Tensor::empty({1, count});
      cast(narrow, x);
      cast(wide, narrow);
      const Array small = device.make(narrow, skipped), large = device.make(wide, skipped);
      device.ops().cast(small, device.put(x, skipped), device.context());
      device.ops().cast(large, small, device.context());
      CHECK(equal_bits(device.get(small), narrow));
      CHECK(equal_bits(device.get(large), wide));
    }
  }
}

TEST_CASE("device fill and bias touch every element and no other", "[kernels][gpu]") {
  for (const auto& [rows, columns] : {std::pair<int, int>{1, 1}, {3, 31}, {2, 64}, {33, 65}, {5, 128}}) {
    TestDevice device;
    const Tensor x = random_tensor<float>({rows, columns}, 7), bias = random_tensor<float>({columns}, 8);
    const Tensor expected = Tensor::empty({rows, columns}, DType::kFloat64);
    const Array out = device.make(x);
    device.ops().fill(out, 2.5, device.context());
    fill(expected, 2.5);
    CHECK(worst_error(device.get(out), expected) == 0.0);
    device.ops().add_bias(out, device.put(x), device.put(bias), device.context());
    add_bias(expected, doubled(x), doubled(bias));
    CHECK(worst_error(device.get(out), expected) <= 0x1p-24);
  }
}
