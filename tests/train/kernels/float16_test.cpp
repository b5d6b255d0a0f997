// The CPU's operations on float16: conversions. Everything else is for devices (device_*_test.cpp).
#include "base/float16.hpp"

#include <array>

#include "base/error.hpp"
#include "kernels/ops.hpp"
#include "kernels/testing.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

Tensor empty_float16(const Shape& shape) { return Tensor::empty(shape, DType::kFloat16); }

}  // namespace

TEST_CASE("a cast to float16 and back rounds each element, in one block and in many", "[kernels][fp16]") {
  for (const std::int64_t count : {1, 17, 100'003}) {
    const Tensor values = random_tensor<float>({count}, 5, 1e4), half = empty_float16({count}),
                 back = Tensor::empty({count});
    cast(half, values);
    cast(back, half);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      REQUIRE(half.span<Float16>()[i].bits == to_float16(values.span<float>()[i]).bits);
      REQUIRE(back.span<float>()[i] == to_float(half.span<Float16>()[i]));
    }
    const Tensor again = empty_float16({count});
    copy(again, half);
    CHECK(equal_bits(again, half));
  }
}

TEST_CASE("float16 becomes float32 and nothing else, and as many elements", "[kernels][fp16]") {
  const auto refuses = [](const Tensor& out, const Tensor& input) {
    CHECK_THROWS_WITH(cast(out, input), ContainsSubstring("cannot become"));
  };
  refuses(empty_float16({2}), Tensor::zeros({2}, DType::kFloat64));
  refuses(empty_float16({2}), Tensor::zeros({2}, DType::kBFloat16));
  refuses(Tensor::empty({2}, DType::kBFloat16), empty_float16({2}));
  refuses(Tensor::empty({3}), empty_float16({2}));
}

TEST_CASE("an operation that the CPU does not compute in float16 says what to use instead", "[kernels][fp16]") {
  const Tensor a = empty_float16({2, 2}), out = empty_float16({2, 2});
  const auto advises = ContainsSubstring("the CPU does not compute in float16; use bfloat16, or a device");
  CHECK_THROWS_WITH(matmul(out, a, Transpose::kNo, a, Transpose::kNo), ContainsSubstring("matmul: ") && advises);
  CHECK_THROWS_WITH(add(out, a, a), ContainsSubstring("add: ") && advises);
  CHECK_THROWS_WITH(gelu_forward(out, a), advises);
}
