// Attention written from primitives against the fused one, forward and backward.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "autograd/functions.hpp"
#include "autograd/gradient_check.hpp"
#include "autograd/primitives.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::autograd;
using lockstep::test::elements_of;
using lockstep::test::largest_difference;
using lockstep::test::random_tensor;

namespace {

constexpr std::int64_t kSamples = 2, kPositions = 17, kHeads = 3, kHeadSize = 8;

// 0 up to the diagonal and -infinity after it, [T, T].
Tensor causal_mask(DType dtype, Device device) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < kPositions * kPositions; ++i) {
    values.push_back(i % kPositions > i / kPositions ? -std::numeric_limits<double>::infinity() : 0.0);
  }
  if (dtype == DType::kFloat64) return Tensor::from<double>(values, {kPositions, kPositions}, device);
  return Tensor::from<float>(std::vector<float>(values.begin(), values.end()), {kPositions, kPositions}, device);
}

// qkv [B, T, 3C] to [B, T, C].
Variable written_attention(const Variable& qkv) {
  constexpr std::int64_t kChannels = kHeads * kHeadSize;
  const auto heads = [&](std::int64_t part) {
    const Variable own = narrow(qkv, -1, part * kChannels, kChannels);                // [B, T, C]
    return transpose(reshape(own, {kSamples, kPositions, kHeads, kHeadSize}), 1, 2);  // [B, H, T, D]
  };
  const Variable q = heads(0), k = heads(1), v = heads(2);
  const Variable scores = mul(matmul(q, transpose(k, -1, -2)), 1 / std::sqrt(static_cast<double>(kHeadSize)));
  const Variable mask(causal_mask(qkv.value().dtype(), qkv.value().device()));
  const Variable mixed = matmul(softmax(add(scores, mask)), v);  // [B, H, T, D]
  return reshape(transpose(mixed, 1, 2), {kSamples, kPositions, kChannels});
}

double largest_of(const Tensor& tensor) {
  const std::vector<double> elements = elements_of(tensor);
  return largest_difference(elements, std::vector<double>(elements.size()));
}

struct Result {
  std::vector<double> output, gradient;
};

template <typename Attention>
Result run(DType dtype, Device device, const Attention& attend) {
  const Tensor value = random_tensor({kSamples, kPositions, 3 * kHeads * kHeadSize}, 5, dtype).to(device);
  const Variable halved = mul(Variable(value), 0.5);
  const Variable qkv = Variable::parameter(halved.value(), "qkv");
  const Variable output = attend(qkv);
  const Tensor weights = random_tensor(output.value().shape(), 6, dtype).to(device);
  sum(mul(output, mul(Variable(weights), 0.5))).backward();
  REQUIRE(largest_of(qkv.value()) <= 2.0);
  REQUIRE(largest_of(weights) <= 4.0);  // and halved
  return {elements_of(output.value()), elements_of(qkv.gradient())};
}

void check_written_attention(DType dtype, Device device) {
  INFO((dtype == DType::kFloat64 ? "float64" : "float32") << " on " << device.name());
  const Result written = run(dtype, device, written_attention);
  const Result fused = run(dtype, device, [](const Variable& qkv) { return attention(qkv, kHeads); });

  // Worst cases in units of the roundoff u, with elements (of q, k, v and of the output's gradient) up to m = 2 and
  // 8 channels a head. A score is up to 8 m^2 / sqrt(8) = 11 and a sum of 8 products, scaled: 10 * 11 u wrong. So a
  // probability has a relative error of twice that and of a sum over 17 positions: e = 240 u. An output, of size m, is
  // wrong by (e + 17 u) m. A gradient of probabilities is up to 8 m^2 = 32; of a row of scores all together up to 64,
  // wrong by 64 (2 e + 50 u); a gradient of q or k is that times m / sqrt(8). A gradient of v adds 17 rows of p m.
  const double u = dtype == DType::kFloat64 ? 0x1p-53 : 0x1p-24;
  const double e = 240 * u, m = 2;
  const double of_output = (e + 17 * u) * m;
  const double of_gradient = std::max(64 * (2 * e + 50 * u) * m / std::sqrt(8.0), 17 * m * (e + 17 * u));
  CHECK(largest_difference(written.output, fused.output) <= 2 * of_output);
  CHECK(largest_difference(written.gradient, fused.gradient) <= 2 * of_gradient);
  const auto largest = [](const std::vector<double>& values) { return std::ranges::max(values); };
  CHECK(largest(fused.output) > 0.5);  // there is something to compare
  CHECK(largest(fused.gradient) > 0.5);
}

}  // namespace

TEST_CASE("attention from primitives is the fused one, forward and backward", "[autograd]") {
  check_written_attention(GENERATE(DType::kFloat64, DType::kFloat32), {});
}

TEST_CASE("attention from primitives is the fused one on a device", "[autograd][gpu]") {
  check_written_attention(DType::kFloat32, test::accelerator());
}
