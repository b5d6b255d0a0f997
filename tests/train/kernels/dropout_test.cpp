#include "kernels/dropout.hpp"

#include <set>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "kernels/testing.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

Tensor ones(const Shape& shape) {
  return Tensor::from<float>(std::vector<float>(static_cast<std::size_t>(shape.count()), 1.0F), shape);
}

const std::vector<std::int64_t> kSampleIds{5, 0, 1'000'000'000'007, 3};

}  // namespace

TEST_CASE("element 64 g + 16 w + n of a sample is decided by word w of Philox block 16 g + n", "[kernels]") {
  const DropoutMask mask{.probability = 0.25F, .key = dropout_key(1, 2, 3), .sample_ids = kSampleIds};
  const Tensor x = ones({4, 7, 149}), y = Tensor::empty(x.shape());
  dropout_forward(y, x, mask);
  std::size_t wrong = 0;
  for (std::uint64_t i = 0; i < 4 * 7 * 149; ++i) {
    const std::uint64_t sample = i / (7 * 149), element = i % (7 * 149);
    const std::uint64_t block = element / 64 * 16 + element % 16;
    const std::uint32_t word =
        philox4x32(mask.key, static_cast<std::uint64_t>(kSampleIds[sample]), block)[element / 16 % 4];
    wrong += y.span<float>()[i] != (word < 0x40000000U ? 0.0F : 1.0F / 0.75F);
  }
  CHECK(wrong == 0);
}

TEST_CASE("the share of dropped elements and their mean are as stated", "[kernels]") {
  const std::int64_t count = 1 << 18;
  for (const float probability : {0.1F, 0.5F, 0.9F}) {
    const DropoutMask mask{.probability = probability, .key = 11, .sample_ids = {kSampleIds.data(), 1}};
    const Tensor x = ones({1, count});
    dropout_forward(x, x, mask);
    double dropped = 0, total = 0;
    for (const float value : x.span<float>()) {
      dropped += value == 0.0F ? 1 : 0;
      total += static_cast<double>(value);
    }
    const double p = static_cast<double>(probability), deviation = std::sqrt(p * (1 - p) / static_cast<double>(count));
    CHECK(std::abs(dropped / static_cast<double>(count) - p) < 5 * deviation);
    CHECK(std::abs(total / static_cast<double>(count) - 1) < 5 * deviation / (1 - p) + 1e-6);
  }
}

TEST_CASE("a batch split over ranks draws the masks of the whole batch", "[kernels]") {
  const Tensor x = random_tensor<float>({4, 6, 33}, 1), residual = random_tensor<float>({4, 6, 33}, 2),
               whole = Tensor::empty(x.shape());
  DropoutMask mask{.probability = 0.3F, .key = 7, .sample_ids = kSampleIds};
  dropout_forward(whole, x, mask, residual);
  const Tensor parts = Tensor::empty(x.shape());
  for (const auto& [begin, end] : {std::pair{0, 1}, std::pair{1, 4}}) {
    mask.sample_ids =
        std::span(kSampleIds).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    dropout_forward(parts.rows(begin, end), x.rows(begin, end), mask, residual.rows(begin, end));
  }
  CHECK(equal_bits(whole, parts));
}

TEST_CASE("rows of a batch draw the masks of the whole batch, wherever they are cut", "[kernels]") {
  const std::int64_t rows_per_sample = 7, rows = 4 * rows_per_sample, columns = 149;
  const Tensor x = random_tensor<float>({rows, columns}, 1), residual = random_tensor<float>({rows, columns}, 2);
  const Tensor whole = Tensor::empty(x.shape()), gradient = x.clone();
  DropoutMask mask{.probability = 0.3F, .key = 7, .sample_ids = kSampleIds};
  dropout_forward(whole.reshape({4, rows_per_sample, columns}), x.reshape({4, rows_per_sample, columns}), mask,
                  residual);
  dropout_backward(gradient.reshape({4, rows_per_sample * columns}), Write::kOverwrite, x, mask);
  mask.rows_per_sample = rows_per_sample;
  for (const std::int64_t length : {1, 5, 7, 14, 20, 28}) {
    const Tensor parts = Tensor::empty(x.shape()), d_parts = x.clone();
    for (std::int64_t begin = 0; begin < rows; begin += length) {
      const std::int64_t end = std::min(begin + length, rows);
      mask.first_row = begin;
      dropout_forward(parts.rows(begin, end), x.rows(begin, end), mask, residual.rows(begin, end));
      dropout_backward(d_parts.rows(begin, end), Write::kOverwrite, x.rows(begin, end), mask);
    }
    CAPTURE(length);
    CHECK(equal_bits(whole, parts));
    CHECK(equal_bits(gradient, d_parts));
  }
}

TEST_CASE("a part of every sample's elements draws that part of the masks", "[kernels]") {
  const std::size_t count = 1043, samples = 4;
  const Tensor whole = ones({4, 1043});
  const DropoutMask mask{.probability = 0.3F, .key = 7, .sample_ids = kSampleIds};
  dropout_forward(whole, whole, mask);
  for (const auto& [begin, end] : {std::pair{0, 500}, std::pair{64, 128}, std::pair{37, 38}, std::pair{500, 1043}}) {
    const Tensor part = ones({4, end - begin});
    DropoutMask shifted = mask;
    shifted.first_element = begin;
    dropout_forward(part, part, shifted);
    std::size_t wrong = 0;
    const auto length = static_cast<std::size_t>(end - begin);
    for (std::size_t i = 0; i < samples * length; ++i) {
      const std::size_t place = i / length * count + static_cast<std::size_t>(begin) + i % length;
      wrong += part.span<float>()[i] != whole.span<float>()[place];
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("dropout refuses rows that no sample has", "[kernels]") {
  const Tensor x = ones({5, 3});
  DropoutMask mask{.probability = 0.5F, .key = 0, .sample_ids = kSampleIds, .rows_per_sample = 2, .first_row = 3};
  dropout_forward(x, x, mask);
  mask.first_row = 4;
  CHECK_THROWS_WITH(dropout_forward(x, x, mask),
                    Catch::Matchers::ContainsSubstring("rows [4, 9) of 4 samples with 2 rows each"));
  mask.first_row = -1;
  CHECK_THROWS_AS(dropout_forward(x, x, mask), ContractError);
  mask = {.probability = 0.5F, .key = 0, .sample_ids = kSampleIds, .first_element = -1};
  CHECK_THROWS_AS(dropout_forward(ones({4, 3}), ones({4, 3}), mask), ContractError);
}

TEST_CASE("dropout's gradient passes where the forward pass did", "[kernels]") {
  const DropoutMask mask{.probability = 0.5F, .key = 21, .sample_ids = kSampleIds};
  const Tensor x = ones({4, 100}), gradient = random_tensor<float>({4, 100}, 1), dx = gradient.clone();
  dropout_forward(x, x, mask);  // the factors themselves
  dropout_backward(dx, Write::kOverwrite, gradient, mask);
  const Values factors = values_of(x), from = values_of(gradient);
  Values expected(400);
  for (std::size_t i = 0; i < 400; ++i) expected[i] = factors[i] * from[i];
  CHECK(largest_difference(dx, expected) == 0);  // factors are 0 and 2: exact
  dropout_backward(dx, Write::kAdd, gradient, mask);
  for (double& value : expected) value *= 2;
  CHECK(largest_difference(dx, expected) == 0);
}

TEST_CASE("no dropout adds the residual or copies", "[kernels]") {
  const Tensor x = random_tensor<float>({2, 9}, 1), y = Tensor::empty({2, 9});
  dropout_forward(y, x, {});
  CHECK(equal_bits(x, y));
  dropout_forward(y, x, {}, x);
  CHECK(values_of(y)[3] == 2 * values_of(x)[3]);
}

TEST_CASE("keys differ between seeds, steps and layers", "[kernels]") {
  std::set<std::uint64_t> keys;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    for (std::int64_t step = 0; step < 5; ++step) {
      for (std::uint64_t layer = 0; layer < 5; ++layer) keys.insert(dropout_key(seed, step, layer));
    }
  }
  CHECK(keys.size() == 125);
}

TEST_CASE("dropout refuses a probability of one and missing sample ids", "[kernels]") {
  const Tensor x = ones({4, 3});
  CHECK_THROWS_AS(dropout_forward(x, x, {.probability = 1.0F, .key = 0, .sample_ids = kSampleIds}), ContractError);
  CHECK_THROWS_AS(dropout_forward(x, x, {.probability = 0.5F, .key = 0, .sample_ids = {}}), ContractError);
}
