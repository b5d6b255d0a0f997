// Parts, repeated shapes and sums, and the operations over rows that models are written from, against plain loops in
// double precision. Gradients: tests/train/autograd/primitives_test.cpp.
#include "kernels/views.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/matmul.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/rotary.hpp"
#include "kernels/softmax.hpp"
#include "kernels/testing.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

using Index = std::array<std::int64_t, 4>;

// Element numbers 0, 1, 2, ...: every one is told from every other.
Tensor numbered(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.count()));
  std::iota(values.begin(), values.end(), 0.0F);
  return Tensor::from<float>(values, shape);
}

// Calls body(index, number) for every index of a shape of rank 4.
template <typename Body>
void for_each_index(const Shape& shape, const Body& body) {
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    std::int64_t rest = i;
    Index index{};
    for (int axis = 3; axis >= 0; --axis) {
      index[static_cast<std::size_t>(axis)] = rest % shape[axis];
      rest /= shape[axis];
    }
    body(index, static_cast<std::size_t>(i));
  }
}

std::size_t place_of(const Index& index, const Shape& shape) {
  std::int64_t place = 0;
  for (int axis = 0; axis < 4; ++axis) place = place * shape[axis] + index[static_cast<std::size_t>(axis)];
  return static_cast<std::size_t>(place);
}

}  // namespace

TEST_CASE("a transposed view exchanges indices, a narrowed one shifts them", "[kernels]") {
  const Shape shape{2, 3, 5, 40};
  const Tensor input = numbered(shape);
  const Values from = values_of(input);
  for (const auto& [axis0, axis1] : std::vector<std::pair<int, int>>{{0, 1}, {1, 2}, {2, 3}, {0, 3}, {1, 1}}) {
    std::array<std::int64_t, 4> sizes{2, 3, 5, 40};
    std::swap(sizes[static_cast<std::size_t>(axis0)], sizes[static_cast<std::size_t>(axis1)]);
    const Tensor out = Tensor::empty(Shape(sizes));
    copy_view(out, view_of(out.shape()), Write::kOverwrite, input, transposed_view(shape, axis0, axis1));
    const Values got = values_of(out);
    for_each_index(out.shape(), [&, a = axis0, b = axis1](Index index, std::size_t i) {
      std::swap(index[static_cast<std::size_t>(a)], index[static_cast<std::size_t>(b)]);
      REQUIRE(got[i] == from[place_of(index, shape)]);
    });
  }
  for (int axis = 0; axis < 4; ++axis) {
    std::array<std::int64_t, 4> sizes{2, 3, 5, 40};
    sizes[static_cast<std::size_t>(axis)] -= 1;
    const Tensor out = Tensor::empty(Shape(sizes));
    const StridedView view = narrowed_view(shape, axis, 1, out.shape()[axis]);
    copy_view(out, view_of(out.shape()), Write::kOverwrite, input, view);
    const Values got = values_of(out);
    for_each_index(out.shape(), [&, a = axis](Index index, std::size_t i) {
      ++index[static_cast<std::size_t>(a)];
      REQUIRE(got[i] == from[place_of(index, shape)]);
    });
    // And back, to the same places, added: what the view does not name stays.
    const Tensor sums = input.clone();
    copy_view(sums, view, Write::kAdd, out, view_of(out.shape()));
    const Values added = values_of(sums);
    for_each_index(shape, [&, a = axis](Index index, std::size_t i) {
      REQUIRE(added[i] == from[i] * (index[static_cast<std::size_t>(a)] >= 1 ? 2 : 1));
    });
  }
}

TEST_CASE("a long row and a long column are copied in pieces", "[kernels]") {
  const Tensor input = numbered({3, 20'001});
  const Tensor turned = Tensor::empty({20'001, 3}), back = Tensor::empty({3, 20'001});
  copy_view(turned, view_of(turned.shape()), Write::kOverwrite, input, transposed_view(input.shape(), 0, 1));
  CHECK(turned.span<float>()[3 * 20'000 + 1] == 20'001.0F + 20'000.0F);
  copy_view(back, view_of(back.shape()), Write::kOverwrite, turned, transposed_view(turned.shape(), 0, 1));
  CHECK(equal_bits(back, input));
}

TEST_CASE("views refuse what their tensors do not have", "[kernels]") {
  const Tensor small = numbered({2, 3}), large = numbered({4, 3});
  CHECK_THROWS_AS(copy_view(small, view_of({2, 3}), Write::kOverwrite, small, view_of({3, 2})), ContractError);
  CHECK_THROWS_WITH(copy_view(small, view_of({4, 3}), Write::kOverwrite, large, view_of({4, 3})),
                    ContainsSubstring("reaches element 11 of [2, 3]"));
  CHECK_THROWS_WITH(copy_view(large, view_of({4, 3}), Write::kOverwrite, small, view_of({4, 3})),
                    ContainsSubstring("the input reaches"));
  CHECK_THROWS_AS(narrowed_view({2, 3}, 0, -1, 1), ContractError);
  CHECK_THROWS_AS(broadcast_view({1, 2, 3}, {2, 3}), ContractError);
  CHECK_THROWS_AS(sum_axis(small, Write::kOverwrite, large, 0), ContractError);
}

TEMPLATE_TEST_CASE("sums and products of repeated shapes are those of their elements", "[kernels]", double, float) {
  const Shape full{2, 3, 5, 37};
  for (const Shape& one :
       {Shape{2, 3, 5, 37}, Shape{37}, Shape{5, 1}, Shape{1, 3, 1, 37}, Shape{2, 1, 1, 1}, Shape{}}) {
    for (const Shape& other : {full, Shape{3, 1, 37}}) {
      if (one.count() != full.count() && other.count() != full.count()) continue;  // the result would be smaller
      const Tensor a = random_tensor<TestType>(one, 1), b = random_tensor<TestType>(other, 2);
      const Tensor sum = Tensor::empty(full, a.dtype()), product = random_tensor<TestType>(full, 3);
      const Values x = values_of(a), y = values_of(b), before = values_of(product);
      const StridedView a_view = broadcast_view(one, full), b_view = broadcast_view(other, full);
      const auto at = [](const StridedView& view, const Index& index) {
        std::int64_t place = 0;
        for (std::size_t axis = 0; axis < 4; ++axis) place += index[axis] * view.strides[axis];
        return static_cast<std::size_t>(place);
      };
      add_broadcast(sum, a, b);
      multiply(product, Write::kAdd, a, b);
      Values sums(before.size()), products(before.size());
      for_each_index(full, [&](const Index& index, std::size_t i) {
        sums[i] = x[at(a_view, index)] + y[at(b_view, index)];
        products[i] = before[i] + x[at(a_view, index)] * y[at(b_view, index)];
      });
      CHECK(largest_difference(sum, sums) <= 16 * kRoundoff<TestType>);  // one rounding of a sum below 16
      CHECK(largest_difference(product, products) <= 2 * 32 * kRoundoff<TestType>);
    }
  }
}

TEMPLATE_TEST_CASE("a sum over a dimension adds what it names, wherever the dimension is", "[kernels]", double, float) {
  for (const Shape& shape : {Shape{2, 3, 5, 37}, Shape{1, 130, 3, 300}, Shape{1, 1, 3, 5000}, Shape{7, 1, 1, 1}}) {
    const Tensor input = random_tensor<TestType>(shape, 1);
    const Values x = values_of(input);
    for (int axis = 0; axis < 4; ++axis) {
      Index sizes{};
      std::ranges::copy(shape.dimensions(), sizes.begin());
      sizes[static_cast<std::size_t>(axis)] = 1;
      const Tensor out = random_tensor<TestType>(Shape(sizes), 2);
      Values expected = values_of(out);
      for_each_index(shape, [&](Index index, std::size_t i) {
        index[static_cast<std::size_t>(axis)] = 0;
        expected[place_of(index, out.shape())] += x[i];
      });
      sum_axis(out, Write::kAdd, input, axis);
      // Sums of n elements of order 1, in partial sums of 64: about 64 + n/64 roundings of at most sqrt(n) times 4.
      const auto n = static_cast<double>(shape[axis]);
      CHECK(largest_difference(out, expected) <= (64 + n / 64) * 4 * std::sqrt(n) * kRoundoff<TestType>);
    }
  }
}

TEMPLATE_TEST_CASE("softmax sums to one, leaves masked elements out and does not overflow", "[kernels]", double,
                   float) {
  for (const std::int64_t columns : {1, 3, 16, 37, 1000}) {
    const Tensor input = random_tensor<TestType>({3, columns}, 1, 3.0),
                 out = Tensor::empty({3, columns}, input.dtype());
    const auto elements = input.template span<TestType>();
    for (std::int64_t c = 0; c < columns; ++c) elements[static_cast<std::size_t>(columns + c)] += 1e4F;
    if (columns > 1) elements[static_cast<std::size_t>(2 * columns + 1)] = -INFINITY;
    const Values x = values_of(input);
    Values expected(x.size());
    for (std::size_t row = 0; row < 3; ++row) {
      const auto width = static_cast<std::size_t>(columns), first = row * width;
      const double largest = *std::max_element(x.begin() + first, x.begin() + first + width);
      double sum = 0;
      for (std::size_t c = first; c < first + width; ++c) sum += std::exp(x[c] - largest);
      for (std::size_t c = first; c < first + width; ++c) expected[c] = std::exp(x[c] - largest) / sum;
    }
    softmax_forward(out, input);
    // An exponential is 2 units wrong and its argument, exact below 2^14, adds none; the sum adds one for each of up to
    // 1000 / 16 elements of a lane; a probability is at most 1.
    CHECK(largest_difference(out, expected) <= 80 * kRoundoff<TestType>);
    softmax_forward(input, input);
    CHECK(equal_bits(input, out));
  }
  const Tensor masked = Tensor::from<TestType>(std::vector<TestType>(3, -INFINITY), {1, 3});
  softmax_forward(masked, masked);
  CHECK(std::isnan(values_of(masked)[0]));  // as PyTorch
}

TEST_CASE("exp and SiLU agree with their definitions over the whole range", "[kernels]") {
  std::vector<float> points;
  for (float x = -20; x <= 20; x += 0.0097F) points.push_back(x);
  points.insert(points.end(), {-200.0F, -87.0F, 0.0F, -0.0F, 1e-30F, 80.0F});
  const Tensor x = Tensor::from<float>(points, {static_cast<std::int64_t>(points.size())}),
               y = Tensor::empty(x.shape());
  const auto worst = [&](const auto& function) {
    double largest = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double expected = function(static_cast<double>(points[i]));
      largest = std::max(largest, std::abs(values_of(y)[i] - expected) / std::max(1e-30, std::abs(expected)));
    }
    return largest;
  };
  exp_forward(y, x);
  CHECK(worst([](double at) { return std::exp(at); }) <= 4 * kRoundoff<float>);
  silu_forward(y, x);  // below -88 the exponential overflows, and the quotient is 0 instead of 1e-37
  y.span<float>()[points.size() - 6] = static_cast<float>(-200 / (1 + std::exp(200.0)));
  CHECK(worst([](double at) { return at / (1 + std::exp(-at)); }) <= 8 * kRoundoff<float>);
}

TEST_CASE("batched products are those of their matrices, in all four layouts", "[kernels]") {
  for (const Transpose a_transpose : {Transpose::kNo, Transpose::kYes}) {
    for (const Transpose b_transpose : {Transpose::kNo, Transpose::kYes}) {
      const bool a_flipped = a_transpose == Transpose::kYes, b_flipped = b_transpose == Transpose::kYes;
      const Tensor a = random_tensor<float>(a_flipped ? Shape{2, 3, 5, 4} : Shape{2, 3, 4, 5}, 1);
      const Tensor b = random_tensor<float>(b_flipped ? Shape{2, 3, 7, 5} : Shape{2, 3, 5, 7}, 2);
      const Tensor out = random_tensor<float>({2, 3, 4, 7}, 3), expected = out.clone();
      batched_matmul(out, a, a_transpose, b, b_transpose, Write::kAdd);
      const Tensor flat_a = a.reshape({6, a.shape()[2], a.shape()[3]}),
                   flat_b = b.reshape({6, b.shape()[2], b.shape()[3]});
      const Tensor flat = expected.reshape({6, 4, 7});
      for (std::int64_t i = 0; i < 6; ++i) {
        matmul(flat.rows(i, i + 1), flat_a.rows(i, i + 1), a_transpose, flat_b.rows(i, i + 1), b_transpose,
               Write::kAdd);
      }
      CHECK(equal_bits(out, expected));
    }
  }
  const Tensor none = Tensor::empty({0, 4, 5}), result = Tensor::empty({0, 4, 4});
  CHECK_NOTHROW(batched_matmul(result, none, Transpose::kNo, none, Transpose::kYes));
}

TEST_CASE("rotary positions turn pairs, and backward turns them back", "[kernels]") {
  const std::int64_t positions = 5, pairs = 19;
  const Tensor x = random_tensor<double>({2, 3, positions, 2 * pairs}, 1),
               angles = random_tensor<double>({positions, pairs}, 2);
  const Tensor cos = Tensor::empty(angles.shape(), DType::kFloat64), sin = cos.clone();
  for (std::size_t i = 0; i < static_cast<std::size_t>(angles.count()); ++i) {
    cos.span<double>()[i] = std::cos(angles.span<double>()[i]);
    sin.span<double>()[i] = std::sin(angles.span<double>()[i]);
  }
  const Tensor turned = Tensor::empty(x.shape(), DType::kFloat64);
  rotary(turned, Write::kOverwrite, x, cos, sin, Rotation::kForward);
  const Values from = values_of(x), to = values_of(turned), by = values_of(angles);
  for (std::int64_t row = 0; row < 2 * 3 * positions; ++row) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      const auto first = static_cast<std::size_t>(row * 2 * pairs + i), second = first + pairs;
      const double angle = by[static_cast<std::size_t>(row % positions * pairs + i)];
      CHECK(to[first] == Approx(from[first] * std::cos(angle) - from[second] * std::sin(angle)).margin(1e-14));
      CHECK(to[second] == Approx(from[second] * std::cos(angle) + from[first] * std::sin(angle)).margin(1e-14));
    }
  }
  rotary(turned, Write::kOverwrite, turned, cos, sin, Rotation::kBackward);
  CHECK(largest_difference(turned, from) <= 1e-14);
}

TEST_CASE("rms_norm divides by the root of the mean square", "[kernels]") {
  for (const std::int64_t channels : {1, 8, 37}) {
    const Tensor x = random_tensor<double>({3, channels}, 1), gain = random_tensor<double>({channels}, 2);
    const Tensor out = Tensor::empty(x.shape(), DType::kFloat64), factors = Tensor::empty({3}, DType::kFloat64);
    rms_norm_forward(out, factors, x, gain, 1e-3);
    const Values from = values_of(x), g = values_of(gain), got = values_of(out);
    for (std::size_t row = 0; row < 3; ++row) {
      const auto width = static_cast<std::size_t>(channels);
      double squares = 0;
      for (std::size_t c = 0; c < width; ++c) squares += from[row * width + c] * from[row * width + c];
      const double factor = 1 / std::sqrt(squares / static_cast<double>(channels) + 1e-3);
      CHECK(values_of(factors)[row] == Approx(factor).epsilon(1e-13));
      for (std::size_t c = 0; c < width; ++c) {
        CHECK(got[row * width + c] == Approx(from[row * width + c] * factor * g[c]).epsilon(1e-13));
      }
    }
  }
}
