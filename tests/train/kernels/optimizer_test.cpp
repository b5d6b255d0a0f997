#include "kernels/optimizer.hpp"

#include "base/error.hpp"
#include "kernels/testing.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

/// Algorithms of the papers, in float64.
struct Reference {
  Values p, m, v;

  void adam(const Values& gradient, const AdamOptions& o) {
    for (std::size_t i = 0; i < p.size(); ++i) {
      double g = gradient[i] * o.gradient_scale;
      if (o.decay_kind == WeightDecay::kInGradient)
        g += o.weight_decay * p[i];
      else
        p[i] -= o.learning_rate * o.weight_decay * p[i];
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * g;
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * g * g;
      const auto steps = static_cast<double>(o.step);
      const double first = m[i] / (1 - std::pow(o.beta1, steps)), second = v[i] / (1 - std::pow(o.beta2, steps));
      p[i] -= o.learning_rate * first / (std::sqrt(second) + o.epsilon);
    }
  }
};

}  // namespace

TEST_CASE("Adam and AdamW follow their papers over several steps", "[kernels]") {
  for (const WeightDecay kind : {WeightDecay::kInGradient, WeightDecay::kDecoupled}) {
    const Tensor p = random_tensor<float>({20'003}, 1), m = Tensor::zeros({20'003}), v = Tensor::zeros({20'003});
    Reference reference{values_of(p), values_of(m), values_of(v)};
    for (std::int64_t step = 1; step <= 5; ++step) {
      const Tensor g = random_tensor<float>({20'003}, 10 + static_cast<std::uint64_t>(step));
      const AdamOptions options{.learning_rate = 1e-2,
                                .beta1 = 0.9,
                                .beta2 = 0.95,
                                .weight_decay = 0.1,
                                .decay_kind = kind,
                                .step = step,
                                .gradient_scale = 0.5};
      adam_step(p.span<float>(), m.span<float>(), v.span<float>(), g.span<float>(), options);
      reference.adam(values_of(g), options);
    }
    // Each step rounds a parameter of magnitude up to 5 a few times, and a moment of magnitude up to 4 / 2 likewise;
    // if a gradient is tiny, the first steps' quotient is near 1 whatever its rounding.
    CHECK(largest_difference(p, reference.p) <= 5 * 4 * 5 * kRoundoff<float>);
    CHECK(largest_difference(m, reference.m) <= 5 * 4 * 2 * kRoundoff<float>);
    CHECK(largest_difference(v, reference.v) <= 5 * 4 * 4 * kRoundoff<float>);
  }
}

TEST_CASE("SGD follows PyTorch's momentum and weight decay", "[kernels]") {
  const Tensor p = random_tensor<float>({1001}, 1), speed = Tensor::zeros({1001}), g = random_tensor<float>({1001}, 2);
  Values x = values_of(p), velocity(1001);
  const SgdOptions options{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.01};
  for (int step = 0; step < 3; ++step) {
    sgd_step(p.span<float>(), speed.span<float>(), g.span<float>(), options);
    for (std::size_t i = 0; i < x.size(); ++i) {
      velocity[i] = 0.9 * velocity[i] + values_of(g)[i] + 0.01 * x[i];
      x[i] -= 0.1 * velocity[i];
    }
  }
  CHECK(largest_difference(p, x) <= 3 * 4 * 8 * kRoundoff<float>);  // 3 steps, 4 roundings, values below 8
  sgd_step(p.span<float>(), {}, g.span<float>(), {.learning_rate = 0.5});
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= 0.5 * values_of(g)[i];
  CHECK(largest_difference(p, x) <= 4 * 4 * 8 * kRoundoff<float>);
}

TEST_CASE("the squared norm is exact to double precision", "[kernels]") {
  const Tensor x = random_tensor<float>({100'003}, 1);
  double expected = 0;
  for (const double value : values_of(x)) expected += value * value;
  CHECK(std::abs(squared_norm(x.span<float>()) / expected - 1) < 1e-12);
  CHECK(squared_norm(std::span<const float>()) == 0);
}

TEST_CASE("scale multiplies and is_finite finds one bad element", "[kernels]") {
  const Tensor x = random_tensor<float>({40'001}, 1), y = x.clone();
  kernels::scale(x.span<float>(), 2.0);
  CHECK(values_of(x)[40'000] == 2 * values_of(y)[40'000]);
  CHECK(is_finite(x.span<float>()));
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    x.span<float>()[33'333] = bad;
    CHECK_FALSE(is_finite(x.span<float>()));
  }
  CHECK(std::isnan(squared_norm(x.span<float>())) == false);
  x.span<float>()[5] = NAN;
  CHECK(std::isnan(squared_norm(x.span<float>())));
}

TEST_CASE("updates refuse spans of different lengths and step 0", "[kernels]") {
  std::vector<float> three(3), four(4);
  CHECK_THROWS_AS(adam_step(three, three, three, four, {}), ContractError);
  CHECK_THROWS_AS(adam_step(three, three, three, three, {.step = 0}), ContractError);
  CHECK_THROWS_AS(sgd_step(three, {}, three, {.momentum = 0.9}), ContractError);
}
