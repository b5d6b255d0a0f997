#include "base/environment.hpp"
#include "kernels/attention_testing.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

// One row, a tile without its last row, a whole one, and one row more. Sixteen tiles take 15 s in checked mode.
std::vector<std::int64_t> lengths() {
  std::vector<std::int64_t> lengths{1, 63, 64, 65};
  if (environment::get("LOCKSTEP_CI_PART") == "all") lengths.push_back(1024);
  return lengths;
}

struct Inputs {
  Tensor qkv, dy;
};

Inputs random_inputs(const AttentionSizes& s, std::uint64_t key = 1) {
  return {random_stored(DType::kBFloat16, {s.B, s.T, 3 * s.H * s.D}, key),
          random_stored(DType::kBFloat16, {s.B, s.T, s.H * s.D}, key + 1)};
}

// The norm of columns [begin, end) of each row of `columns`.
double norm_of(const Values& values, std::size_t columns, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % columns >= begin && i % columns < end) sum += values[i] * values[i];
  }
  return std::sqrt(sum);
}

// Of the gradients of queries, keys and values: |error| / |expected|, the largest.
double relative_error(const Tensor& gradient, const Tensor& expected) {
  const Values values = values_of(gradient), wanted = values_of(expected);
  const auto columns = static_cast<std::size_t>(expected.shape()[-1]);
  Values errors;
  for (std::size_t i = 0; i < values.size(); ++i) errors.push_back(values[i] - wanted[i]);
  double largest = 0;
  // With one row, the gradients of queries and keys are differences that cancel: they are held against the whole.
  const double floor = values.size() == columns ? norm_of(wanted, columns, 0, columns) : 0.0;
  for (std::size_t part = 0; part < 3; ++part) {
    const std::size_t begin = columns / 3 * part, end = begin + columns / 3;
    const double error = norm_of(errors, columns, begin, end);
    if (!std::isfinite(error)) return INFINITY;
    if (error > 0) largest = std::max(largest, error / std::max(floor, norm_of(wanted, columns, begin, end)));
  }
  return largest;
}

// Not a number in every element of heads after the first and of samples after the first.
void poison_others(const Tensor& tensor, const AttentionSizes& s) {
  const std::span<BFloat16> values = tensor.span<BFloat16>();
  const std::int64_t channels = s.H * s.D, columns = tensor.shape()[-1];
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const bool is_other = i / columns >= s.T || i % columns % channels >= s.D;
    if (is_other) values[static_cast<std::size_t>(i)] = to_bfloat16(NAN);
  }
}

}  // namespace

TEST_CASE("gradients of attention in bfloat16 are as near float64 as their roundings", "[kernels][gpu]") {
  // A gradient sums products of which one factor, a probability or a score's gradient, is rounded to bfloat16; `out`,
  // of which the latter depends, is rounded too, and so is the result. Each rounding has a relative error of at most
  // u = 2^-8, evenly spread: u / sqrt 3 on average. The errors of different terms are independent, so their sum's norm
  // has that share of the norm: for three roundings, u; with room for chance, 2 u.
  for (const std::int64_t D : {32, 64, 128}) {
    for (const std::int64_t T : lengths()) {
      for (const float probability : {0.0F, 0.3F}) {
        if (probability > 0 && T > 65) continue;
        TestDevice device;
        const AttentionSizes s{1, T, 2, D};
        const std::vector<std::int64_t> ids{123456789012};
        const DropoutMask mask{.probability = probability, .key = 5, .sample_ids = ids};
        const auto [qkv, dy] = random_inputs(s);
        const Results expected = on_cpu(s, qkv, dy, mask), result = on_device(device, s, qkv, dy, mask);
        CAPTURE(D, T, probability);
        CHECK(relative_error(result.gradient, expected.gradient) <= 2 * 0x1p-8);
      }
    }
  }
}

TEST_CASE("gradients of attention in bfloat16 have the same bits in two runs", "[kernels][gpu]") {
  for (const std::int64_t D : {32, 64, 128}) {
    TestDevice device;
    const AttentionSizes s{2, 65, 2, D};
    const auto [qkv, dy] = random_inputs(s);
    const Results first = on_device(device, s, qkv, dy, {}), second = on_device(device, s, qkv, dy, {});
    CHECK(equal_bits(first.gradient, second.gradient));
  }
}

TEST_CASE("gradients of attention in bfloat16 do not see other heads, other samples and padding", "[kernels][gpu]") {
  for (const std::int64_t D : {20, 24, 64, 128}) {  // rows of 20 channels are not aligned
    TestDevice device;
    const AttentionSizes s{2, 63, 2, D};
    const auto [qkv, dy] = random_inputs(s);
    const Results clean = on_device(device, s, qkv, dy, {});
    poison_others(qkv, s);
    poison_others(dy, s);
    const Values poisoned = values_of(on_device(device, s, qkv, dy, {}).gradient), before = values_of(clean.gradient);
    std::size_t different = 0;
    for (std::int64_t i = 0; i < s.T; ++i) {
      for (std::int64_t c = 0; c < 3 * s.H * D; ++c) {
        const auto at = static_cast<std::size_t>(i * 3 * s.H * D + c);
        const bool is_own = c % (s.H * D) < D;
        if (is_own && poisoned[at] != before[at]) ++different;
        if (!is_own && !std::isnan(poisoned[at])) ++different;
      }
    }
    CHECK(different == 0);
  }
}
