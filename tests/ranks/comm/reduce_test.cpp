#include "comm/reduce.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "support/catch.hpp"

using namespace lockstep;
using comm::ReduceOp;

namespace {

template <typename T>
std::vector<T> reduced(std::vector<T> a, const std::vector<T>& b, ReduceOp op) {
  comm::reduce_into(a.data(), b.data(), static_cast<std::int64_t>(a.size()), dtype_of<T>, op);
  return a;
}

// The upper half of a float32, without rounding: exact for the small integers used here.
BFloat16 exact_bfloat16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return {static_cast<std::uint16_t>(bits >> 16)};
}

float as_float(BFloat16 value) {
  const std::uint32_t bits = std::uint32_t{value.bits} << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

}  // namespace

TEMPLATE_TEST_CASE("each operation does its arithmetic, at counts around the vector width", "[comm]", float, double,
                   std::int32_t, std::int64_t) {
  for (const int count : {0, 1, 15, 16, 17, 100}) {
    std::vector<TestType> a, b, sum, product, minimum, maximum;
    for (int i = 0; i < count; ++i) {
      a.push_back(static_cast<TestType>(i - 7));
      b.push_back(static_cast<TestType>(11 - 2 * i));
      sum.push_back(static_cast<TestType>(4 - i));
      product.push_back(static_cast<TestType>((i - 7) * (11 - 2 * i)));
      minimum.push_back(static_cast<TestType>(i <= 6 ? i - 7 : 11 - 2 * i));  // i - 7 < 11 - 2i exactly while i < 6
      maximum.push_back(static_cast<TestType>(i <= 6 ? 11 - 2 * i : i - 7));
    }
    CHECK(reduced(a, b, ReduceOp::kSum) == sum);
    CHECK(reduced(a, b, ReduceOp::kMean) == sum);
    CHECK(reduced(a, b, ReduceOp::kProduct) == product);
    CHECK(reduced(a, b, ReduceOp::kMin) == minimum);
    CHECK(reduced(a, b, ReduceOp::kMax) == maximum);
  }
}

TEST_CASE("NaN propagates through every operation from either side, in every lane", "[comm]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin, ReduceOp::kMax}) {
    for (const std::size_t lane : {0U, 5U, 16U, 18U}) {
      std::vector<float> with_nan(19, 1.0F);
      with_nan[lane] = nan;
      const std::vector<float> ones(19, 1.0F);
      CHECK(std::isnan(reduced(with_nan, ones, op)[lane]));
      CHECK(std::isnan(reduced(ones, with_nan, op)[lane]));
      CHECK_FALSE(std::isnan(reduced(with_nan, ones, op)[lane == 0 ? 1 : 0]));
    }
  }
}

TEST_CASE("bfloat16 rounds to nearest even and keeps NaN", "[comm]") {
  // 256 + 1 lies halfway between 256 and 258 (8 bits of precision): even is 256. 256 + 3 is halfway to 260, even.
  const std::vector<BFloat16> a(3, exact_bfloat16(256.0F));
  const std::vector<BFloat16> b{exact_bfloat16(1.0F), exact_bfloat16(3.0F),
                                exact_bfloat16(std::numeric_limits<float>::quiet_NaN())};
  const std::vector<BFloat16> sum = reduced(a, b, ReduceOp::kSum);
  CHECK(as_float(sum[0]) == 256.0F);
  CHECK(as_float(sum[1]) == 260.0F);
  CHECK(std::isnan(as_float(sum[2])));
}

TEST_CASE("integer sums wrap instead of being undefined", "[comm]") {
  const std::vector<std::int32_t> largest{std::numeric_limits<std::int32_t>::max()};
  CHECK(reduced(largest, {1}, ReduceOp::kSum).front() == std::numeric_limits<std::int32_t>::min());
}

TEST_CASE("a mean divides once at the end, and only a mean", "[comm]") {
  std::vector<float> values{10.0F, -3.0F};
  comm::finish_mean(values.data(), 2, DType::kFloat32, ReduceOp::kSum, 4);
  CHECK(values == std::vector<float>{10.0F, -3.0F});
  comm::finish_mean(values.data(), 2, DType::kFloat32, ReduceOp::kMean, 4);
  CHECK(values == std::vector<float>{2.5F, -0.75F});
  std::vector<std::int64_t> integers{-7};
  comm::finish_mean(integers.data(), 1, DType::kInt64, ReduceOp::kMean, 2);
  CHECK(integers.front() == -3);
}

TEST_CASE("bytes cannot be reduced", "[comm]") {
  std::vector<std::uint8_t> a{1}, b{2};
  CHECK_THROWS_AS(comm::reduce_into(a.data(), b.data(), 1, DType::kUInt8, ReduceOp::kSum), ContractError);
}
