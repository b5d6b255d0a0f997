#include "kernels/elementwise.hpp"

#include <numbers>

#include "base/error.hpp"
#include "kernels/testing.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

Values map(const Values& from, const std::function<double(std::size_t)>& value) {
  Values out(from.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = value(i);
  return out;
}

}  // namespace

TEST_CASE("simple operations work on any count, in place too", "[kernels]") {
  for (const std::int64_t count : {0, 1, 31, 33, 70'001}) {
    const Tensor a = random_tensor<float>({count}, 1), b = random_tensor<float>({count}, 2),
                 out = Tensor::empty({count});
    const Values x = values_of(a), y = values_of(b);
    add(out, a, b);  // one rounding of a sum below 16
    CHECK(largest_difference(out, map(x, [&](std::size_t i) { return x[i] + y[i]; })) <= 8 * kRoundoff<float>);
    add_scaled(out, -1.0, b);
    CHECK(largest_difference(out, x) <= 16 * kRoundoff<float>);
    copy(out, a);
    CHECK(equal_bits(out, a));
    scale(out, 0.5);
    CHECK(largest_difference(out, map(x, [&](std::size_t i) { return x[i] / 2; })) == 0);
    add(out, out, out);
    CHECK(equal_bits(out, a));
    fill(out, 2.5);
    CHECK(largest_difference(out, Values(x.size(), 2.5)) == 0);
  }
}

TEST_CASE("add_bias adds the same row to every row", "[kernels]") {
  const Tensor input = random_tensor<double>({2, 3, 5}, 1), bias = random_tensor<double>({5}, 2);
  const Values x = values_of(input), b = values_of(bias);
  add_bias(input, input, bias);
  CHECK(largest_difference(input, map(x, [&](std::size_t i) { return x[i] + b[i % 5]; })) == 0);
}

TEST_CASE("relu and its gradient keep the sign and pass NaN", "[kernels]") {
  const Tensor x = Tensor::from<float>(std::vector<float>{-1, 0, 2, NAN, -INFINITY, INFINITY}, {6}),
               y = Tensor::empty({6});
  relu_forward(y, x);
  CHECK(values_of(y)[0] == 0);
  CHECK(values_of(y)[2] == 2);
  CHECK(std::isnan(values_of(y)[3]));
  CHECK(values_of(y)[4] == 0);
  CHECK(std::isinf(values_of(y)[5]));
  const Tensor gradient = Tensor::from<float>(std::vector<float>{1, 2, 3, 4, 5, 6}, {6}), dx = Tensor::zeros({6});
  relu_backward(dx, Write::kOverwrite, gradient, y);
  CHECK(values_of(dx) == Values{0, 0, 3, 4, 0, 6});
  relu_backward(dx, Write::kAdd, gradient, x);
  CHECK(values_of(dx) == Values{0, 0, 6, 8, 0, 12});
}

TEST_CASE("GELU agrees with its definition over the whole range", "[kernels]") {
  std::vector<float> points;
  for (float x = -12; x <= 12; x += 0.00097F) points.push_back(x);
  points.insert(points.end(), {-100.0F, -30.0F, 0.0F, -0.0F, 1e-30F, 50.0F, 3e4F});
  const Tensor x = Tensor::from<float>(points, {static_cast<std::int64_t>(points.size())}),
               y = Tensor::empty(x.shape());
  gelu_forward(y, x);
  const Values at = values_of(x), got = values_of(y);
  double largest = 0;
  for (std::size_t i = 0; i < at.size(); ++i)
    largest = std::max(largest, std::abs(got[i] - gelu(at[i])) / std::max(1.0, std::abs(at[i])));
  CHECK(largest < 3e-7);  // what the header states
  const Tensor nan = Tensor::from<float>(std::vector<float>{NAN}, {1});
  gelu_forward(nan, nan);
  CHECK(std::isnan(values_of(nan)[0]));
}

TEST_CASE("GELU's gradient agrees with finite differences and with float64", "[kernels]") {
  const Tensor x = random_tensor<double>({101}, 1, 2.0), y = Tensor::empty({101}, DType::kFloat64);
  const Tensor weights = random_tensor<double>({101}, 2), gradient = Tensor::empty({101}, DType::kFloat64);
  gelu_backward(gradient, Write::kOverwrite, weights, x);
  CHECK(largest_difference(gradient, finite_differences(x, [&] {
                             gelu_forward(y, x);
                             return weighted_sum(y, weights);
                           })) < kFiniteDifferenceTolerance);
  const Tensor narrow_x = random_tensor<float>({101}, 1, 2.0), narrow_weights = random_tensor<float>({101}, 2);
  const Tensor narrow = Tensor::zeros({101});
  gelu_backward(narrow, Write::kAdd, narrow_weights, narrow_x);
  // A dozen roundings of terms below 8, times a weight below 5.
  CHECK(largest_difference(narrow, values_of(gradient)) <= 12 * 8 * 5 * kRoundoff<float>);
}

TEST_CASE("elementwise operations refuse tensors that differ", "[kernels]") {
  const Tensor a = Tensor::zeros({3}), b = Tensor::zeros({4}), c = Tensor::zeros({3}, DType::kFloat64);
  CHECK_THROWS_WITH(add(a, a, b), ContainsSubstring("add") && ContainsSubstring("[4]"));
  CHECK_THROWS_AS(copy(a, c), ContractError);
  CHECK_THROWS_AS(gelu_forward(a, Tensor{}), ContractError);
  CHECK_THROWS_AS(fill(Tensor::zeros({2}, DType::kInt32), 1), ContractError);
}
