// Every operation on bfloat16 activations against the same operation in float64 on the same inputs (whose own tests
// compare it with definitions and finite differences). Arithmetic is float32 and each result is rounded once, so an
// element may differ by 2^-8 of itself, plus what float32 loses on the way.
#include "base/bfloat16.hpp"

#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "kernels/ops.hpp"
#include "kernels/testing.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

constexpr double kBFloat16Roundoff = 1.0 / 256;

/// `tensor` in another type; float64 takes every element exactly.
Tensor as(DType dtype, const Tensor& tensor) {
  if (dtype == DType::kFloat64) return Tensor::from<double>(values_of(tensor), tensor.shape());
  const Tensor result = Tensor::empty(tensor.shape(), dtype);
  cast(result, tensor);
  return result;
}

Tensor exact(const Tensor& tensor) { return tensor.is_defined() ? as(DType::kFloat64, tensor) : tensor; }

Tensor random_bfloat16(const Shape& shape, std::uint64_t key, double deviation = 1.0) {
  return as(DType::kBFloat16, random_tensor<float>(shape, key, deviation));
}

Tensor empty_bfloat16(const Shape& shape) { return Tensor::empty(shape, DType::kBFloat16); }
Tensor empty_float64(const Shape& shape) { return Tensor::empty(shape, DType::kFloat64); }

/// The largest error in units of what may be lost: one rounding of the element to its type, and `slack`.
double error_in_units(const Tensor& result, const Tensor& expected, double slack) {
  const Values found = values_of(result), wanted = values_of(expected);
  if (found.size() != wanted.size()) return INFINITY;
  const double roundoff = result.dtype() == DType::kBFloat16 ? kBFloat16Roundoff : kRoundoff<float>;
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == wanted[i]) continue;
    const double units = std::abs(found[i] - wanted[i]) / (roundoff * std::abs(wanted[i]) + slack);
    if (!(units <= worst)) worst = std::isnan(units) ? INFINITY : units;
  }
  return worst;
}

/// Absolute error of a float32 sum of `terms` products of standard normal values: its magnitude is sqrt(terms), and
/// each addition rounds by at most a roundoff of the partial sum. As for float32 matrix products.
double sum_slack(std::int64_t terms) {
  return 4 * static_cast<double>(terms + 1) * std::sqrt(static_cast<double>(terms) + 1) * kRoundoff<float>;
}

const std::array<std::int64_t, 3> kSamples{7, 1'000'000, 3};
DropoutMask mask() { return {0.3F, dropout_key(1, 2, 3), kSamples}; }

}  // namespace

TEST_CASE("a cast rounds to the nearest bfloat16, ties to even, at every place of a vector", "[kernels][bf16]") {
  const auto bfloat16_of = [](float value) {
    const Tensor in = Tensor::from<float>(std::array{value}, {1}), out = empty_bfloat16({1});
    cast(out, in);
    return out.span<BFloat16>()[0].bits;
  };
  CHECK(bfloat16_of(1.0F) == 0x3F80);
  CHECK(bfloat16_of(1.0F + 0x1p-8F) == 0x3F80);  // halfway between 1 and 1 + 2^-7: to the even one
  CHECK(bfloat16_of(1.0F + 3 * 0x1p-8F) == 0x3F82);
  CHECK(bfloat16_of(1.0F + 0x1p-8F + 0x1p-23F) == 0x3F81);
  CHECK(bfloat16_of(-0.0F) == 0x8000);
  CHECK(bfloat16_of(INFINITY) == 0x7F80);
  CHECK(bfloat16_of(std::numeric_limits<float>::max()) == 0x7F80);
  CHECK(std::isnan(to_float(BFloat16{bfloat16_of(std::bit_cast<float>(0x7F800001U))})));
  for (const std::int64_t count : {1, 15, 16, 17, 100'003}) {
    const Tensor values = random_tensor<float>({count}, 5), rounded = as(DType::kBFloat16, values);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      REQUIRE(rounded.span<BFloat16>()[i].bits == to_bfloat16(values.span<float>()[i]).bits);
    }
    CHECK(error_in_units(rounded, exact(values), 0) <= 1);
    CHECK(equal_bits(as(DType::kBFloat16, as(DType::kFloat32, rounded)), rounded));
  }
  CHECK_THROWS_AS(cast(empty_bfloat16({2}), Tensor::zeros({2}, DType::kFloat64)), ContractError);
  CHECK_THROWS_AS(cast(empty_bfloat16({2}), Tensor::zeros({3})), ContractError);
}

TEST_CASE("bfloat16 products agree with float64 in every form, with float32 and bfloat16 results", "[kernels][bf16]") {
  struct Product {
    std::int64_t rows, columns, inner;
  };
  for (const Product& p : {Product{1, 1, 1}, Product{31, 33, 17}, Product{64, 48, 128}, Product{129, 5, 1}}) {
    for (const auto ta : {Transpose::kNo, Transpose::kYes}) {
      for (const auto tb : {Transpose::kNo, Transpose::kYes}) {
        const Tensor a = random_bfloat16(ta == Transpose::kNo ? Shape{p.rows, p.inner} : Shape{p.inner, p.rows}, 1);
        const Tensor b =
            random_bfloat16(tb == Transpose::kNo ? Shape{p.inner, p.columns} : Shape{p.columns, p.inner}, 2);
        for (const auto write : {Write::kOverwrite, Write::kAdd}) {
          for (const auto dtype : {DType::kFloat32, DType::kBFloat16}) {
            const Tensor out = as(dtype, random_tensor<float>({p.rows, p.columns}, 3)), expected = exact(out);
            matmul(out, a, ta, b, tb, write);
            matmul(expected, exact(a), ta, exact(b), tb, write);
            CHECK(error_in_units(out, expected, sum_slack(p.inner)) <= 1);
          }
        }
      }
    }
  }
  CHECK_THROWS_AS(
      matmul(empty_bfloat16({2, 2}), Tensor::zeros({2, 2}), Transpose::kNo, Tensor::zeros({2, 2}), Transpose::kNo),
      ContractError);
  CHECK_THROWS_AS(
      matmul(empty_bfloat16({2, 2}), empty_bfloat16({2, 2}), Transpose::kNo, Tensor::zeros({2, 2}), Transpose::kNo),
      ContractError);
}

TEST_CASE("bfloat16 products of small integers are exact: nothing but the result is rounded", "[kernels][bf16]") {
  // Products up to 225 and sums up to 225 * 300 < 2^24 are exact in float32, and not in bfloat16.
  const std::int64_t rows = 40, columns = 50, inner = 300;
  const auto integers = [](const Shape& shape, std::uint64_t key) {
    const Tensor values = random_tensor<float>(shape, key, 5);
    for (float& value : values.span<float>()) value = std::clamp(std::round(value), -15.0F, 15.0F);
    return as(DType::kBFloat16, values);
  };
  const Tensor a = integers({rows, inner}, 1), b = integers({columns, inner}, 2);
  const Tensor out = Tensor::empty({rows, columns}), expected = empty_float64({rows, columns});
  matmul(out, a, Transpose::kNo, b, Transpose::kYes);
  matmul(expected, exact(a), Transpose::kNo, exact(b), Transpose::kYes);
  CHECK(largest_difference(out, values_of(expected)) == 0);
  const Tensor rounded = empty_bfloat16({rows, columns});
  matmul(rounded, a, Transpose::kNo, b, Transpose::kYes);
  CHECK(equal_bits(rounded, as(DType::kBFloat16, out)));
}

TEST_CASE("bfloat16 products as wide as a vocabulary are as exact as narrow ones", "[kernels][bf16]") {
  const std::int64_t vocabulary = 20'001, channels = 24, rows = 20;
  const Tensor table = random_bfloat16({vocabulary, channels}, 1), logits = random_bfloat16({rows, vocabulary}, 2),
               hidden = random_bfloat16({rows, channels}, 3);
  for (const auto write : {Write::kOverwrite, Write::kAdd}) {
    for (const auto dtype : {DType::kFloat32, DType::kBFloat16}) {
      const Tensor d_hidden = as(dtype, random_tensor<float>({rows, channels}, 4)), expected = exact(d_hidden);
      matmul(d_hidden, logits, Transpose::kNo, table, Transpose::kNo, write);
      matmul(expected, exact(logits), Transpose::kNo, exact(table), Transpose::kNo, write);
      // The sum has magnitude sqrt(V), and V additions round it independently: sqrt(V) roundoffs of that, four times.
      const double slack = 4 * static_cast<double>(vocabulary) * kRoundoff<float>;
      CHECK(error_in_units(d_hidden, expected, slack) <= 1);

      const Tensor d_table = as(dtype, random_tensor<float>({vocabulary, channels}, 5)),
                   expected_table = exact(d_table);
      matmul(d_table, logits, Transpose::kYes, hidden, Transpose::kNo, write);
      matmul(expected_table, exact(logits), Transpose::kYes, exact(hidden), Transpose::kNo, write);
      CHECK(error_in_units(d_table, expected_table, sum_slack(rows)) <= 1);
    }
  }
  const Tensor across = empty_bfloat16({rows, channels}), bias = random_tensor<float>({channels}, 6),
               weight = random_bfloat16({channels, vocabulary}, 7), expected = empty_float64({rows, channels});
  linear_forward(across, logits, weight, Transpose::kYes, bias);
  linear_forward(expected, exact(logits), exact(weight), Transpose::kYes, exact(bias));
  CHECK(error_in_units(across, expected, 4 * static_cast<double>(vocabulary) * kRoundoff<float>) <= 1);
}

TEST_CASE("a bfloat16 layer takes a float32 bias, and its gradients of parameters are float32", "[kernels][bf16]") {
  const Tensor input = random_bfloat16({2, 3, 31}, 1), weight = random_bfloat16({31, 33}, 2);
  const Tensor bias = random_tensor<float>({33}, 3), d_out = random_bfloat16({2, 3, 33}, 4);
  const Tensor out = empty_bfloat16({2, 3, 33}), expected = empty_float64({2, 3, 33});
  linear_forward(out, input, weight, Transpose::kNo, bias);
  linear_forward(expected, exact(input), exact(weight), Transpose::kNo, exact(bias));
  CHECK(error_in_units(out, expected, sum_slack(31)) <= 1);

  const Tensor d_input = random_bfloat16({2, 3, 31}, 5), d_weight = random_tensor<float>({31, 33}, 6),
               d_bias = random_tensor<float>({33}, 7);
  const Tensor expected_input = exact(d_input), expected_weight = exact(d_weight), expected_bias = exact(d_bias);
  linear_input_gradient(d_input, Write::kAdd, d_out, weight, Transpose::kNo);
  linear_input_gradient(expected_input, Write::kAdd, exact(d_out), exact(weight), Transpose::kNo);
  linear_weight_gradient(d_weight, Write::kAdd, input, d_out, Transpose::kNo);
  linear_weight_gradient(expected_weight, Write::kAdd, exact(input), exact(d_out), Transpose::kNo);
  bias_gradient(d_bias, Write::kAdd, d_out);
  bias_gradient(expected_bias, Write::kAdd, exact(d_out));
  CHECK(error_in_units(d_input, expected_input, sum_slack(33)) <= 1);
  CHECK(error_in_units(d_weight, expected_weight, sum_slack(6)) <= 1);
  CHECK(error_in_units(d_bias, expected_bias, sum_slack(6)) <= 1);
  CHECK_THROWS_AS(linear_forward(out, input, weight, Transpose::kNo, empty_bfloat16({33})), ContractError);
}

TEST_CASE("element-wise operations on bfloat16 round once", "[kernels][bf16]") {
  for (const std::int64_t count : {1, 16, 31, 9000}) {
    const Tensor a = random_bfloat16({count}, 1), b = random_bfloat16({count}, 2);
    const Tensor out = empty_bfloat16({count}), expected = empty_float64({count});
    // Each float32 operation rounds by a roundoff of values below 8; GELU's float32 error is given in its header.
    const double slack = 8 * 8 * kRoundoff<float>, gelu_slack = 8 * 3e-7;
    const auto check = [&](double extra, const auto& run) {
      run(out, a, b);
      run(expected, exact(a), exact(b));
      CHECK(error_in_units(out, expected, extra) <= 1);
    };
    check(slack, [](const Tensor& to, const Tensor& x, const Tensor& y) { add(to, x, y); });
    check(slack, [](const Tensor& to, const Tensor& x, const Tensor& y) {
      copy(to, x);
      add_scaled(to, 0.7, y);
    });
    check(slack, [](const Tensor& to, const Tensor& x, const Tensor&) {
      copy(to, x);
      scale(to, 1.0 / 3);
    });
    check(0, [](const Tensor& to, const Tensor& x, const Tensor&) { relu_forward(to, x); });
    check(slack, [](const Tensor& to, const Tensor& x, const Tensor& y) {
      copy(to, x);
      relu_backward(to, Write::kAdd, x, y);
    });
    check(gelu_slack, [](const Tensor& to, const Tensor& x, const Tensor&) { gelu_forward(to, x); });
    check(gelu_slack, [](const Tensor& to, const Tensor& x, const Tensor& y) {
      copy(to, x);
      gelu_backward(to, Write::kAdd, x, y);
    });
  }
  const Tensor nan = as(DType::kBFloat16, Tensor::from<float>(std::array{NAN}, {1})), out = empty_bfloat16({1});
  relu_forward(out, nan);
  CHECK(std::isnan(values_of(out)[0]));
}

TEST_CASE("dropout on bfloat16 drops what it drops in float32", "[kernels][bf16]") {
  const Tensor x = random_bfloat16({3, 1100}, 1), residual = random_bfloat16({3, 1100}, 2);
  const Tensor out = empty_bfloat16(x.shape()), expected = empty_float64(x.shape());
  for (const Tensor& kept : {Tensor(), residual}) {
    dropout_forward(out, x, mask(), kept);
    dropout_forward(expected, exact(x), mask(), exact(kept));
    // The factor 1 / (1 - p) is rounded to float32 from a p that is itself: two roundoffs of values below 8.
    CHECK(error_in_units(out, expected, 8 * 8 * kRoundoff<float>) <= 1);
  }
}

TEST_CASE("embeddings in bfloat16 come from float32 tables and add to float32 gradients", "[kernels][bf16]") {
  const Tensor tokens = random_ids({3, 5}, 7, 1), table = random_tensor<float>({7, 33}, 2),
               positions = random_tensor<float>({6, 33}, 3);
  const Tensor out = empty_bfloat16({3, 5, 33}), expected = empty_float64({3, 5, 33});
  embedding_forward(out, tokens, table, positions);
  embedding_forward(expected, tokens, exact(table), exact(positions));
  CHECK(error_in_units(out, expected, sum_slack(2)) <= 1);
  embedding_forward(out, tokens, table, {});
  embedding_forward(expected, tokens, exact(table), {});
  CHECK(error_in_units(out, expected, 0) <= 1);

  const Tensor d_out = random_bfloat16({3, 5, 33}, 4), d_table = random_tensor<float>({7, 33}, 5),
               d_positions = random_tensor<float>({6, 33}, 6);
  const Tensor expected_table = exact(d_table), expected_positions = exact(d_positions);
  embedding_token_gradient(d_table, Write::kAdd, d_out, tokens);
  embedding_token_gradient(expected_table, Write::kAdd, exact(d_out), tokens);
  embedding_position_gradient(d_positions, Write::kOverwrite, d_out);
  embedding_position_gradient(expected_positions, Write::kOverwrite, exact(d_out));
  CHECK(error_in_units(d_table, expected_table, sum_slack(15)) <= 1);
  CHECK(error_in_units(d_positions, expected_positions, sum_slack(3)) <= 1);
}

TEST_CASE("layer norm of bfloat16 rows keeps float32 statistics", "[kernels][bf16]") {
  for (const std::int64_t channels : {1, 16, 31, 512}) {
    const Shape shape{5, channels};
    const Tensor a = random_bfloat16(shape, 1), b = random_bfloat16(shape, 2);
    const Tensor gain = random_tensor<float>({channels}, 3), bias = random_tensor<float>({channels}, 4);
    const Tensor out = empty_bfloat16(shape), sum = empty_bfloat16(shape), expected = empty_float64(shape);
    const auto statistics = LayerNormStatistics::for_rows_of(a);
    CHECK(statistics.mean.dtype() == DType::kFloat32);
    add_layer_norm_forward(out, sum, statistics, a, b, gain, bias);
    const Tensor expected_sum = empty_float64(shape);
    add(expected_sum, exact(a), exact(b));
    CHECK(error_in_units(sum, expected_sum, 0) <= 1 + 1e-4);  // a sum of two is rounded to float32 before

    // The norm is of the rounded sum. Its float32 error is bounded as in layer_norm_test.cpp.
    const double slack = (static_cast<double>(channels) + 16) * 20 * kRoundoff<float>;
    const auto exact_statistics = LayerNormStatistics::for_rows_of(expected);
    layer_norm_forward(expected, exact_statistics, exact(sum), exact(gain), exact(bias));
    CHECK(error_in_units(out, expected, slack) <= 1);
    layer_norm_forward(out, statistics, sum, gain, bias);
    CHECK(error_in_units(out, expected, slack) <= 1);

    if (channels == 1) continue;  // a row of one element has no gradient to speak of
    const Tensor d_out = random_bfloat16(shape, 5), skip = random_bfloat16(shape, 6), d_input = empty_bfloat16(shape);
    const Tensor d_gain = Tensor::empty({channels}), d_bias = Tensor::empty({channels});
    const Tensor expected_input = empty_float64(shape), expected_gain = empty_float64({channels}),
                 expected_bias = empty_float64({channels});
    layer_norm_backward(d_input, d_out, statistics, sum, gain, d_gain, d_bias, Write::kOverwrite, skip);
    layer_norm_backward(expected_input, exact(d_out), exact_statistics, exact(sum), exact(gain), expected_gain,
                        expected_bias, Write::kOverwrite, exact(skip));
    CHECK(error_in_units(d_input, expected_input, slack) <= 1);
    CHECK(error_in_units(d_gain, expected_gain, slack) <= 1);
    CHECK(error_in_units(d_bias, expected_bias, sum_slack(5)) <= 1);
  }
}

TEST_CASE("attention on bfloat16 computes in float32, with and without dropout", "[kernels][bf16]") {
  const std::int64_t B = 3, T = 37, C = 24;
  const int heads = 2;
  const Tensor qkv = random_bfloat16({B, T, 3 * C}, 1), d_out = random_bfloat16({B, T, C}, 2);
  for (const DropoutMask& dropout : {DropoutMask{}, mask()}) {
    const Tensor out = empty_bfloat16({B, T, C}), lse = Tensor::empty({B, heads, T});
    const Tensor expected = empty_float64({B, T, C}), expected_lse = empty_float64({B, heads, T});
    causal_attention_forward(out, lse, qkv, heads, dropout);
    causal_attention_forward(expected, expected_lse, exact(qkv), heads, dropout);
    // Scores of 12 products of magnitude up to 4 carry 12 * 16 roundoffs, which e^x makes relative errors of
    // probabilities; they weigh values up to 5.
    const double slack = 12 * 16 * 5 * kRoundoff<float>;
    CHECK(error_in_units(out, expected, slack) <= 1);
    CHECK(error_in_units(lse, expected_lse, slack) <= 1);

    const Tensor d_qkv = empty_bfloat16(qkv.shape()), expected_gradient = empty_float64(qkv.shape());
    causal_attention_backward(d_qkv, d_out, out, lse, qkv, heads, dropout);
    causal_attention_backward(expected_gradient, exact(d_out), exact(out), exact(lse), exact(qkv), heads, dropout);
    // Gradients are sums of up to T such terms with factors up to 5.
    CHECK(error_in_units(d_qkv, expected_gradient, slack * static_cast<double>(T)) <= 1);
  }
}

TEST_CASE("cross-entropy of bfloat16 logits is computed in float32", "[kernels][bf16]") {
  const std::int64_t rows = 6, vocabulary = 3001;
  const Tensor targets = random_ids({rows}, vocabulary, 1);
  targets.span<std::int32_t>()[2] = kIgnoredTarget;
  const Tensor logits = random_bfloat16({rows, vocabulary}, 2, 3.0), exact_logits = exact(logits);
  const Tensor losses = Tensor::empty({rows}), expected = empty_float64({rows});
  cross_entropy_loss(losses, logits, targets);
  cross_entropy_loss(expected, exact_logits, targets);
  // Exponentials err by two roundoffs each and are added 1024 at a time: below 1100 roundoffs of the sum.
  const double slack = 1100 * kRoundoff<float>;
  CHECK(error_in_units(losses, expected, slack) <= 1);
  softmax_cross_entropy(losses, logits, targets, 0.25);
  softmax_cross_entropy(expected, exact_logits, targets, 0.25);
  CHECK(error_in_units(losses, expected, slack) <= 1);
  // The gradient of a target is a difference from gradient_scale, so its error is relative to that.
  CHECK(error_in_units(logits, exact_logits, slack * 0.25) <= 1);
}

TEST_CASE("the bfloat16 head and loss are their parts, with a float32 gradient of the table", "[kernels][bf16]") {
  const std::int64_t rows = 10, channels = 24, vocabulary = 50;
  const Tensor hidden = random_bfloat16({rows, channels}, 1), table = random_bfloat16({vocabulary, channels}, 2),
               targets = random_ids({rows}, vocabulary, 3);
  const Tensor losses = Tensor::empty({rows}), d_hidden = empty_bfloat16({rows, channels}),
               d_table = Tensor::empty({vocabulary, channels});
  linear_cross_entropy(losses, d_hidden, d_table, Write::kOverwrite, hidden, table, targets, 0.1);

  const Tensor logits = empty_bfloat16({rows, vocabulary}), expected_losses = Tensor::empty({rows}),
               expected_hidden = empty_bfloat16({rows, channels}),
               expected_table = Tensor::empty({vocabulary, channels});
  matmul(logits, hidden, Transpose::kNo, table, Transpose::kYes);
  softmax_cross_entropy(expected_losses, logits, targets, 0.1);
  matmul(expected_hidden, logits, Transpose::kNo, table, Transpose::kNo);
  matmul(expected_table, logits, Transpose::kYes, hidden, Transpose::kNo);
  CHECK(equal_bits(losses, expected_losses));
  CHECK(equal_bits(d_hidden, expected_hidden));
  CHECK(equal_bits(d_table, expected_table));
}
