#include "kernels/attention.hpp"

#include "base/error.hpp"
#include "kernels/dropout.hpp"
#include "kernels/testing.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

struct Sizes {
  std::int64_t B, T, H, D;
};

/// Factors of all probabilities [B, H, T, T], from the dropout operation itself applied to ones.
Values dropout_factors_of(const Sizes& s, const DropoutMask& mask) {
  const Tensor ones =
      Tensor::from<double>(Values(static_cast<std::size_t>(s.B * s.H * s.T * s.T), 1.0), {s.B, s.H * s.T * s.T});
  dropout_forward(ones, ones, mask);
  return values_of(ones);
}

/// Attention as the textbook writes it: [B, T, C] from [B, T, 3C], and [B, H, T] log-sum-exps.
std::pair<Values, Values> reference(const Sizes& s, const Tensor& qkv, const DropoutMask& mask) {
  const Values x = values_of(qkv), factors = dropout_factors_of(s, mask);
  const std::int64_t C = s.H * s.D;
  Values out(static_cast<std::size_t>(s.B * s.T * C)), lse(static_cast<std::size_t>(s.B * s.H * s.T));
  const auto at = [&](std::int64_t b, std::int64_t t, std::int64_t part, std::int64_t h, std::int64_t d) {
    return x[static_cast<std::size_t>(((b * s.T + t) * 3 + part) * C + h * s.D + d)];
  };
  for (std::int64_t row = 0; row < s.B * s.H * s.T; ++row) {
    const std::int64_t b = row / (s.H * s.T), h = row / s.T % s.H, i = row % s.T;
    Values p(static_cast<std::size_t>(i + 1));
    double total = 0;
    for (std::int64_t j = 0; j <= i; ++j) {
      double dot = 0;
      for (std::int64_t d = 0; d < s.D; ++d) dot += at(b, i, 0, h, d) * at(b, j, 1, h, d);
      total += p[static_cast<std::size_t>(j)] = std::exp(dot / std::sqrt(static_cast<double>(s.D)));
    }
    lse[static_cast<std::size_t>(row)] = std::log(total);
    for (std::int64_t j = 0; j <= i; ++j) {
      const double weight = p[static_cast<std::size_t>(j)] / total * factors[static_cast<std::size_t>(row * s.T + j)];
      for (std::int64_t d = 0; d < s.D; ++d)
        out[static_cast<std::size_t>((b * s.T + i) * C + h * s.D + d)] += weight * at(b, j, 2, h, d);
    }
  }
  return {out, lse};
}

template <typename T>
void check_forward(const Sizes& s, const DropoutMask& mask) {
  const Tensor qkv = random_tensor<T>({s.B, s.T, 3 * s.H * s.D}, 1);
  const Tensor out = Tensor::empty({s.B, s.T, s.H * s.D}, dtype_of<T>),
               lse = Tensor::empty({s.B, s.H, s.T}, dtype_of<T>);
  causal_attention_forward(out, lse, qkv, static_cast<int>(s.H), mask);
  const auto [expected_out, expected_lse] = reference(s, qkv, mask);
  // A score is a sum of D products with magnitude up to about 4, so it carries up to D * 4 roundoffs; its exponential
  // turns that into a relative error; averaging values of magnitude up to 4 (kept ones doubled by dropout) keeps it.
  const double bound = 4 * 8 * static_cast<double>(s.D + 16) * kRoundoff<T>;
  CHECK(largest_difference(out, expected_out) <= bound);
  CHECK(largest_difference(lse, expected_lse) <= bound);
}

const std::vector<std::int64_t> kIds{7, 123456789012};
const DropoutMask kHalf{.probability = 0.5F, .key = 99, .sample_ids = kIds};

}  // namespace

TEST_CASE("causal attention agrees with the textbook in float64", "[kernels]") {
  for (const Sizes& s : {Sizes{1, 1, 1, 1}, Sizes{2, 5, 3, 4}, Sizes{2, 31, 2, 32}, Sizes{1, 33, 1, 20},
                         Sizes{2, 64, 2, 16}, Sizes{1, 127, 2, 64}, Sizes{1, 130, 1, 80}}) {
    check_forward<float>(s, {});
    check_forward<double>(s, {});
  }
}

TEST_CASE("attention with dropout uses the mask of its samples", "[kernels]") {
  check_forward<float>({2, 37, 2, 8}, kHalf);
  check_forward<double>({2, 20, 3, 4}, kHalf);
}

TEST_CASE("attention's gradient agrees with finite differences, with and without dropout", "[kernels]") {
  for (const DropoutMask& mask : {DropoutMask{}, kHalf}) {
    for (const Sizes& s : {Sizes{2, 1, 1, 2}, Sizes{2, 19, 1, 3}, Sizes{2, 7, 2, 5}}) {
      const Tensor qkv = random_tensor<double>({s.B, s.T, 3 * s.H * s.D}, 1);
      const Tensor out = Tensor::empty({s.B, s.T, s.H * s.D}, DType::kFloat64),
                   lse = Tensor::empty({s.B, s.H, s.T}, DType::kFloat64);
      const Tensor out_gradient = random_tensor<double>(out.shape(), 2),
                   gradient = Tensor::empty(qkv.shape(), DType::kFloat64);
      const auto loss = [&] {
        causal_attention_forward(out, lse, qkv, static_cast<int>(s.H), mask);
        return weighted_sum(out, out_gradient);
      };
      loss();
      causal_attention_backward(gradient, out_gradient, out, lse, qkv, static_cast<int>(s.H), mask);
      CHECK(largest_difference(gradient, finite_differences(qkv, loss)) < kFiniteDifferenceTolerance);
    }
  }
}

TEST_CASE("attention's float32 gradient agrees with its float64 gradient at lengths of several blocks", "[kernels]") {
  for (const Sizes& s : {Sizes{1, 150, 2, 32}, Sizes{1, 300, 1, 64}, Sizes{2, 47, 2, 24}}) {
    const Tensor qkv = random_tensor<float>({s.B, s.T, 3 * s.H * s.D}, 1),
                 out_gradient = random_tensor<float>({s.B, s.T, s.H * s.D}, 2);
    const auto gradient_in = [&](const Tensor& x, const Tensor& dy) {
      const Tensor out = Tensor::empty(dy.shape(), x.dtype()), lse = Tensor::empty({s.B, s.H, s.T}, x.dtype());
      const Tensor gradient = Tensor::empty(x.shape(), x.dtype());
      causal_attention_forward(out, lse, x, static_cast<int>(s.H), {});
      causal_attention_backward(gradient, dy, out, lse, x, static_cast<int>(s.H), {});
      return gradient;
    };
    const Tensor wide = gradient_in(Tensor::from<double>(values_of(qkv), qkv.shape()),
                                    Tensor::from<double>(values_of(out_gradient), out_gradient.shape()));
    // As in the forward pass, with sums over T queries of terms of magnitude up to 8 for k and v.
    const double bound = 8 * 8 * static_cast<double>(s.D + 16) * std::log2(static_cast<double>(s.T)) * kRoundoff<float>;
    CHECK(largest_difference(gradient_in(qkv, out_gradient), values_of(wide)) <= bound);
  }
}

TEST_CASE("a NaN in a key reaches the rows that see it and no other", "[kernels]") {
  const Tensor qkv = random_tensor<float>({1, 20, 3 * 8}, 1);
  qkv.span<float>()[9 * 24 + 8] = NAN;  // position 9, first channel of k
  const Tensor out = Tensor::empty({1, 20, 8}), lse = Tensor::empty({1, 1, 20});
  causal_attention_forward(out, lse, qkv, 1);
  for (std::size_t t = 0; t < 20; ++t) CHECK(std::isnan(out.span<float>()[t * 8]) == (t >= 9));
}

TEST_CASE("attention refuses channels that heads do not divide", "[kernels]") {
  const Tensor qkv = Tensor::empty({1, 2, 12}), out = Tensor::empty({1, 2, 4}), lse = Tensor::empty({1, 3, 2});
  CHECK_THROWS_AS(causal_attention_forward(out, lse, qkv, 3), ContractError);
}
