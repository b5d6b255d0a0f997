#include "kernels/attention.hpp"

#include "base/error.hpp"
#include "kernels/dropout.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/testing.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

struct Sizes {
  std::int64_t B, T, H, D;
};

/// The dropout factors of all probabilities, [B, H, T, T]: the dropout operation applied to ones.
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
  // A score is a sum of D products of magnitude up to about 4, so its error is up to D * 4 roundoffs. The exponential
  // turns that into a relative error, which remains when values up to 4 (doubled by dropout if kept) are averaged.
  const double bound = 4 * 8 * static_cast<double>(s.D + 16) * kRoundoff<T>;
  CHECK(largest_difference(out, expected_out) <= bound);
  CHECK(largest_difference(lse, expected_lse) <= bound);
}

/// Positions [begin, end) of a [B, T, columns] tensor.
Tensor positions_of(const Tensor& all, std::int64_t begin, std::int64_t end) {
  const std::int64_t samples = all.shape()[0], length = all.shape()[1], columns = all.shape()[2];
  const Tensor part = Tensor::empty({samples, end - begin, columns}, all.dtype());
  for (std::int64_t b = 0; b < samples; ++b) {
    const Tensor rows = all.reshape({samples * length, columns}).rows(b * length + begin, b * length + end);
    part.reshape({samples * (end - begin), columns}).rows(b * (end - begin), (b + 1) * (end - begin)).copy_from(rows);
  }
  return part;
}

/// Runs the positions of `qkv`, of one sample or several, in parts of these sizes, and puts the results together.
void run_in_parts(const Tensor& out, const Tensor& keys, const Tensor& values, const Tensor& qkv, int heads,
                  const std::vector<std::int64_t>& parts) {
  const std::int64_t samples = qkv.shape()[0], length = qkv.shape()[1], channels = qkv.shape()[2] / 3;
  std::int64_t past = 0;
  for (const std::int64_t count : parts) {
    const Tensor part = Tensor::empty({samples, count, channels}, qkv.dtype());
    cached_attention_forward(part, keys, values, positions_of(qkv, past, past + count), heads, past);
    for (std::int64_t b = 0; b < samples; ++b) {
      const Tensor from = part.reshape({samples * count, channels}).rows(b * count, (b + 1) * count);
      out.reshape({samples * length, channels}).rows(b * length + past, b * length + past + count).copy_from(from);
    }
    past += count;
  }
}

template <typename T>
void check_cached(const Sizes& s, const std::vector<std::int64_t>& parts) {
  const Tensor qkv = random_tensor<T>({s.B, s.T, 3 * s.H * s.D}, 1);
  const Tensor out = Tensor::empty({s.B, s.T, s.H * s.D}, dtype_of<T>);
  const Tensor keys = Tensor::empty({s.B, s.H, s.T + 2, s.D}, dtype_of<T>);  // + 2: room to spare
  const Tensor values = Tensor::empty({s.B, s.H, s.T + 2, s.D}, dtype_of<T>);
  run_in_parts(out, keys, values, qkv, static_cast<int>(s.H), parts);
  const double bound = 4 * 8 * static_cast<double>(s.D + 16) * kRoundoff<T>;  // as in check_forward
  CHECK(largest_difference(out, reference(s, qkv, {}).first) <= bound);
}

/// Columns [begin, begin + count) of each of `blocks` equal blocks of the last dimension, side by side.
Tensor columns_of(const Tensor& x, std::int64_t blocks, std::int64_t begin, std::int64_t count) {
  const std::int64_t width = x.shape()[2] / blocks, rows = x.shape()[0] * x.shape()[1];
  const Tensor part = Tensor::empty({x.shape()[0], x.shape()[1], blocks * count});
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < blocks * count; ++i) {
      const std::int64_t column = i / count * width + begin + i % count;
      part.span<float>()[static_cast<std::size_t>(row * blocks * count + i)] =
          x.span<float>()[static_cast<std::size_t>(row * blocks * width + column)];
    }
  }
  return part;
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

TEST_CASE("attention over some of the heads draws the same masks as attention over all", "[kernels]") {
  const Sizes s{2, 37, 4, 8};
  const Tensor qkv = random_tensor<float>({s.B, s.T, 3 * s.H * s.D}, 1),
               dy = random_tensor<float>({s.B, s.T, s.H * s.D}, 2);
  const auto run = [&](const Tensor& packed, const Tensor& d_out, std::int64_t heads, const DropoutMask& mask) {
    const Tensor out = Tensor::empty({s.B, s.T, heads * s.D}), log_sum_exp = Tensor::empty({s.B, heads, s.T});
    const Tensor gradient = Tensor::empty(packed.shape());
    causal_attention_forward(out, log_sum_exp, packed, static_cast<int>(heads), mask);
    causal_attention_backward(gradient, d_out, out, log_sum_exp, packed, static_cast<int>(heads), mask);
    return std::pair{out, gradient};
  };
  const auto [whole, whole_gradient] = run(qkv, dy, s.H, kHalf);
  for (const auto& [begin, end] : {std::pair{0, 1}, std::pair{1, 4}, std::pair{2, 3}}) {
    DropoutMask mask = kHalf;
    mask.first_element = begin * s.T * s.T;
    const std::int64_t heads = end - begin, from = begin * s.D;
    const auto [part, gradient] =
        run(columns_of(qkv, 3, from, heads * s.D), columns_of(dy, 1, from, heads * s.D), heads, mask);
    CHECK(equal_bits(part, columns_of(whole, 1, from, heads * s.D)));
    CHECK(equal_bits(gradient, columns_of(whole_gradient, 3, from, heads * s.D)));
  }
  DropoutMask rows = kHalf;
  rows.rows_per_sample = s.T;
  CHECK_THROWS_WITH(run(qkv, dy, s.H, rows), ContainsSubstring("rows_per_sample"));
}

TEST_CASE("attention on cached keys and values, a few positions at a time, agrees with the textbook", "[kernels]") {
  check_cached<float>({1, 9, 1, 1}, {1, 1, 7});
  check_cached<float>({2, 33, 3, 20}, {5, 1, 1, 26});
  check_cached<float>({1, 130, 2, 64}, {129, 1});
  check_cached<double>({2, 20, 2, 8}, {1, 18, 1});
}

TEST_CASE("cached keys and values of bfloat16 activations lose no precision", "[kernels][bf16]") {
  const Tensor wide = random_tensor<float>({1, 6, 3 * 2 * 8}, 1);
  const Tensor qkv = Tensor::empty(wide.shape(), DType::kBFloat16);
  cast(qkv, wide);
  const Tensor out = Tensor::empty({1, 6, 2 * 8}, DType::kBFloat16);
  const Tensor keys = Tensor::empty({1, 2, 6, 8}), values = Tensor::empty({1, 2, 6, 8});
  run_in_parts(out, keys, values, qkv, 2, {2, 4});
  // Accurate as a float32 result (check_forward's bound), then rounded once to 8 bits.
  const Values expected = reference({1, 6, 2, 8}, qkv, {}).first;
  CHECK(largest_difference(out, expected) <= 4 * 0x1p-8);
  CHECK(values_of(keys)[1] == values_of(qkv)[2 * 8 + 1]);  // head 0, position 0, channel 1
}

TEST_CASE("attention refuses keys and values that do not fit", "[kernels]") {
  const Tensor qkv = random_tensor<float>({1, 2, 12}, 1), out = Tensor::empty({1, 2, 4});
  const Tensor kept = Tensor::zeros({1, 2, 3, 2}), other = Tensor::zeros({1, 2, 3, 1});
  cached_attention_forward(out, kept, kept.clone(), qkv, 2, 1);
  CHECK_THROWS_WITH(cached_attention_forward(out, kept, kept.clone(), qkv, 2, 2),
                    ContainsSubstring("2 positions after 2 do not fit in a cache of 3"));
  CHECK_THROWS_AS(cached_attention_forward(out, kept, kept.clone(), qkv, 2, -1), ContractError);
  CHECK_THROWS_AS(cached_attention_forward(out, kept, other, qkv, 2, 0), ContractError);
  CHECK_THROWS_AS(cached_attention_forward(out, Tensor::zeros({1, 2, 3, 2}, DType::kFloat64), kept, qkv, 2, 0),
                  ContractError);
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
    // As in the forward pass; for k and v also sums over T queries, of terms of magnitude up to 8.
    const double bound = 8 * 8 * static_cast<double>(s.D + 16) * std::log2(static_cast<double>(s.T)) * kRoundoff<float>;
    CHECK(largest_difference(gradient_in(qkv, out_gradient), values_of(wide)) <= bound);
  }
}

TEST_CASE("a NaN in a key reaches the rows that see it and no others", "[kernels]") {
  const Tensor qkv = random_tensor<float>({1, 20, 3 * 8}, 1);
  qkv.span<float>()[9 * 24 + 8] = NAN;  // position 9, first channel of k
  const Tensor out = Tensor::empty({1, 20, 8}), lse = Tensor::empty({1, 1, 20});
  causal_attention_forward(out, lse, qkv, 1);
  for (std::size_t t = 0; t < 20; ++t) CHECK(std::isnan(out.span<float>()[t * 8]) == (t >= 9));
}

TEST_CASE("attention refuses a number of channels that the heads do not divide", "[kernels]") {
  const Tensor qkv = Tensor::empty({1, 2, 12}), out = Tensor::empty({1, 2, 4}), lse = Tensor::empty({1, 3, 2});
  CHECK_THROWS_AS(causal_attention_forward(out, lse, qkv, 3), ContractError);
}
