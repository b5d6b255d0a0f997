#include "kernels/attention_testing.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

// Tiles of 64 and, for heads above 64 channels, of 32; rests; heads of odd size, whose rows are not aligned.
const std::vector<AttentionSizes> kAttentionSizes{{1, 1, 1, 1},   {2, 5, 3, 4},   {1, 31, 2, 32},
                                                  {1, 33, 1, 20}, {1, 65, 2, 64}, {1, 70, 1, 80}};
const std::vector<std::int64_t> kIds{7, 123456789012};

void check_attention(DType dtype, const AttentionSizes& s, float probability, std::int64_t first_element = 0) {
  TestDevice device;
  const std::span<const std::int64_t> ids(kIds.data(), static_cast<std::size_t>(s.B));
  const DropoutMask mask{.probability = probability, .key = 99, .sample_ids = ids, .first_element = first_element};
  const Tensor qkv = random_stored(dtype, {s.B, s.T, 3 * s.H * s.D}, 1);
  const Tensor dy = random_stored(dtype, {s.B, s.T, s.H * s.D}, 2);
  const Results expected = on_cpu(s, qkv, dy, mask), result = on_device(device, s, qkv, dy, mask);
  // A score is a sum of D products of magnitude up to about 4, so it carries up to 4 D roundoffs; its exponential turns
  // that into a relative error; averaging values of magnitude up to 4 (kept ones doubled by dropout) keeps it. In
  // types of 16 bits probabilities may be rounded too: a roundoff of values up to 4 twice over, and the store.
  const double rounding = 12 * store_error(dtype);
  const double bound = 4 * 8 * static_cast<double>(s.D + 16) * 0x1p-24;
  CHECK(worst_error(result.out, expected.out) <= bound + rounding);
  CHECK(worst_error(result.log_sum_exp, expected.log_sum_exp) <= bound + rounding / 12);
  // A gradient of a score subtracts two numbers up to 4 D; a key's gradient sums up to T of them, weighted by
  // probabilities that add up to order 1. A type of 16 bits also rounds `out` before the backward pass reads it.
  const double gradients = 8 * bound + rounding * std::sqrt(static_cast<double>(s.D));
  CHECK(worst_error(result.gradient, expected.gradient) <= gradients);
}

}  // namespace

TEST_CASE("device attention and its gradient agree with float64", "[kernels][gpu]") {
  for (const AttentionSizes& s : kAttentionSizes) check_attention(DType::kFloat32, s, 0.0F);
  check_attention(DType::kFloat32, {2, 130, 1, 16}, 0.0F);
}

TEST_CASE("device attention drops the probabilities that the CPU drops", "[kernels][gpu]") {
  for (const AttentionSizes& s : kAttentionSizes) check_attention(DType::kFloat32, s, 0.4F);
}

TEST_CASE("device attention of the last heads drops what the CPU drops there", "[kernels][gpu]") {
  for (const DType dtype : kStoredTypes) {
    for (const std::int64_t first_head : {1, 3}) {
      check_attention(dtype, {2, 33, 2, 16}, 0.4F, first_head * 33 * 33);
    }
  }
}

TEST_CASE("device attention in bfloat16 agrees with float64", "[kernels][gpu]") {
  for (const AttentionSizes& s : kAttentionSizes) check_attention(DType::kBFloat16, s, 0.0F);
  for (const AttentionSizes& s : kAttentionSizes) check_attention(DType::kBFloat16, s, 0.4F);
}

TEST_CASE("device attention in float16 agrees with float64", "[kernels][gpu]") {
  for (const AttentionSizes& s : kAttentionSizes) check_attention(DType::kFloat16, s, 0.0F);
  for (const AttentionSizes& s : kAttentionSizes) check_attention(DType::kFloat16, s, 0.4F);
}

TEST_CASE("a NaN in one head of device attention stays in that head and in the rows that see it", "[kernels][gpu]") {
  TestDevice device;
  const AttentionSizes s{1, 70, 2, 16};
  const Tensor qkv = random_tensor<float>({1, 70, 96}, 1), out = Tensor::empty({1, 70, 32});
  qkv.span<float>()[66 * 96 + 32 + 3] = NAN;  // a key of head 0, position 66: the second tile
  const Array to = device.make(out), log_sum_exp = device.make(Tensor::empty({1, 2, 70}));
  device.ops().causal_attention_forward(to, log_sum_exp, device.put(qkv), s.B, 2, {}, device.context());
  const Values result = values_of(device.get(to));
  for (std::size_t t = 0; t < 70; ++t) {
    CHECK(std::isnan(result[t * 32]) == (t >= 66));
    CHECK_FALSE(std::isnan(result[t * 32 + 16]));
  }
}

TEST_CASE("device attention of more samples than a grid can have is an error that says what to do", "[kernels][gpu]") {
  const AttentionSizes s{65536, 1, 1, 1};
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    TestDevice device;
    const Tensor qkv = random_stored(dtype, {s.B, s.T, 3 * s.H * s.D}, 1);
    const Tensor dy = random_stored(dtype, {s.B, s.T, s.H * s.D}, 2);
    CHECK_THROWS_WITH(on_device(device, s, qkv, dy, {}),
                      ContainsSubstring("up to 65535 samples") && ContainsSubstring("smaller micro-batches"));
  }
}
