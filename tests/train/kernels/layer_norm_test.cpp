#include "kernels/layer_norm.hpp"

#include "base/error.hpp"
#include "kernels/testing.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

Values layer_norm_reference(const Tensor& input, const Tensor& gain, const Tensor& bias) {
  const Values x = values_of(input), g = values_of(gain), b = values_of(bias);
  const std::size_t channels = g.size();
  Values out(x.size());
  for (std::size_t row = 0; row < x.size() / channels; ++row) {
    double mean = 0, variance = 0;
    for (std::size_t c = 0; c < channels; ++c) mean += x[row * channels + c] / static_cast<double>(channels);
    for (std::size_t c = 0; c < channels; ++c)
      variance += std::pow(x[row * channels + c] - mean, 2) / static_cast<double>(channels);
    for (std::size_t c = 0; c < channels; ++c)
      out[row * channels + c] = (x[row * channels + c] - mean) / std::sqrt(variance + 1e-5) * g[c] + b[c];
  }
  return out;
}

}  // namespace

TEST_CASE("layer norm agrees with its definition", "[kernels]") {
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 5, 31}, Shape{70, 33}, Shape{4, 512}}) {
    const Tensor x = random_tensor<float>(shape, 1), gain = random_tensor<float>({shape[-1]}, 2),
                 bias = random_tensor<float>({shape[-1]}, 3);
    const Tensor out = Tensor::empty(shape);
    layer_norm_forward(out, LayerNormStatistics::for_rows_of(x), x, gain, bias);
    // Mean and variance carry up to C roundoffs (sequential lanes: far fewer), multiplied by values up to 5 * 4.
    CHECK(largest_difference(out, layer_norm_reference(x, gain, bias)) <=
          (static_cast<double>(shape[-1]) + 16) * 20 * kRoundoff<float>);
  }
}

TEST_CASE("a large mean does not drown the variance", "[kernels]") {
  const Tensor x = random_tensor<float>({2, 256}, 1), gain = Tensor::zeros({256}), bias = Tensor::zeros({256}),
               out = Tensor::empty({2, 256});
  for (float& value : x.span<float>()) value += 1000;
  for (float& value : gain.span<float>()) value = 1;
  layer_norm_forward(out, LayerNormStatistics::for_rows_of(x), x, gain, bias);
  // The mean is known to a few times 1000 roundoffs; the deviation is 1.
  CHECK(largest_difference(out, layer_norm_reference(x, gain, bias)) <= 16 * 1000 * kRoundoff<float>);
}

TEST_CASE("the fused residual sum equals the separate one", "[kernels]") {
  const Tensor a = random_tensor<float>({6, 33}, 1), b = random_tensor<float>({6, 33}, 2),
               gain = random_tensor<float>({33}, 3);
  const Tensor bias = random_tensor<float>({33}, 4), out = Tensor::empty({6, 33}), sum = Tensor::empty({6, 33}),
               expected = Tensor::empty({6, 33});
  const LayerNormStatistics statistics = LayerNormStatistics::for_rows_of(a);
  add_layer_norm_forward(out, sum, statistics, a, b, gain, bias);
  for (std::size_t i = 0; i < 6 * 33; ++i) REQUIRE(sum.span<float>()[i] == a.span<float>()[i] + b.span<float>()[i]);
  layer_norm_forward(expected, statistics, sum, gain, bias);
  CHECK(equal_bits(out, expected));
}

TEST_CASE("layer norm's gradients agree with finite differences", "[kernels]") {
  const Tensor x = random_tensor<double>({3, 9}, 1), gain = random_tensor<double>({9}, 2),
               bias = random_tensor<double>({9}, 3);
  const Tensor out = Tensor::empty({3, 9}, DType::kFloat64), weights = random_tensor<double>({3, 9}, 4),
               skip = random_tensor<double>({3, 9}, 5);
  const LayerNormStatistics statistics = LayerNormStatistics::for_rows_of(x);
  const auto loss = [&] {
    layer_norm_forward(out, statistics, x, gain, bias);
    return weighted_sum(out, weights) + weighted_sum(x, skip);
  };
  loss();
  const Tensor dx = skip.clone(), dgain = gain.clone(), dbias = bias.clone();
  layer_norm_backward(dx, weights, statistics, x, gain, dgain, dbias, Write::kOverwrite, dx);
  Values expected_gain = finite_differences(gain, loss);
  CHECK(largest_difference(dx, finite_differences(x, loss)) < kFiniteDifferenceTolerance);
  CHECK(largest_difference(dgain, expected_gain) < kFiniteDifferenceTolerance);
  CHECK(largest_difference(dbias, finite_differences(bias, loss)) < kFiniteDifferenceTolerance);
  loss();  // statistics of the unchanged input again
  const Tensor without_skip = weights.clone();
  layer_norm_backward(without_skip, without_skip, statistics, x, gain, dgain, dbias, Write::kAdd);
  for (double& value : expected_gain) value *= 2;
  CHECK(largest_difference(dgain, expected_gain) < 2 * kFiniteDifferenceTolerance);
  Values expected = values_of(dx);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] -= values_of(skip)[i];
  CHECK(largest_difference(without_skip, expected) < 1e-13);
}

TEST_CASE("float32 gradients of layer norm agree with float64 over several blocks of rows", "[kernels]") {
  const Shape shape{200, 65};
  const Tensor x = random_tensor<float>(shape, 1), gain = random_tensor<float>({65}, 2),
               dy = random_tensor<float>(shape, 3);
  const auto gradients = [](const Tensor& input, const Tensor& g, const Tensor& out_gradient) {
    const Tensor out = Tensor::empty(input.shape(), input.dtype()), dx = out.clone(), dgain = g.clone(),
                 dbias = g.clone();
    const LayerNormStatistics statistics = LayerNormStatistics::for_rows_of(input);
    layer_norm_forward(out, statistics, input, g, g);
    layer_norm_backward(dx, out_gradient, statistics, input, g, dgain, dbias, Write::kOverwrite);
    return std::vector<Tensor>{dx, dgain, dbias};
  };
  const auto widen = [](const Tensor& t) { return Tensor::from<double>(values_of(t), t.shape()); };
  const auto narrow = gradients(x, gain, dy), wide = gradients(widen(x), widen(gain), widen(dy));
  // Sums over 200 rows of terms up to 16 in blocks of 64; rows: sums over 65 channels of such terms.
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(largest_difference(narrow[i], values_of(wide[i])) <= 70 * 16 * 4 * kRoundoff<float>);
}

TEST_CASE("layer norm refuses parameters of another length", "[kernels]") {
  const Tensor x = Tensor::zeros({2, 4}), gain = Tensor::zeros({3});
  CHECK_THROWS_WITH(layer_norm_forward(x, LayerNormStatistics::for_rows_of(x), x, gain, gain),
                    ContainsSubstring("gain"));
}
