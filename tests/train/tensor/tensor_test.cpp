#include "tensor/tensor.hpp"

#include <limits>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;

namespace {

Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.count()));
  std::iota(values.begin(), values.end(), 0.0F);
  return Tensor::from<float>(values, shape);
}

}  // namespace

TEST_CASE("a shape knows its dimensions, count and text", "[tensor]") {
  const Shape shape{2, 3, 4};
  CHECK(shape.rank() == 3);
  CHECK(shape.count() == 24);
  CHECK(shape[1] == 3);
  CHECK(shape[-1] == 4);
  CHECK(to_string(shape) == "[2, 3, 4]");
  CHECK(Shape{}.count() == 1);
  CHECK(Shape{2, 0}.count() == 0);
  CHECK(shape == Shape{2, 3, 4});
  CHECK_FALSE(shape == Shape{2, 3});
  CHECK_THROWS_AS(shape[3], ContractError);
  CHECK_THROWS_AS(shape[-4], ContractError);
  CHECK_THROWS_AS((Shape{1, 1, 1, 1, 1}), ContractError);
  CHECK_THROWS_WITH((Shape{2, -1}), "a dimension is negative: -1; none is inferred from the others");
  const std::int64_t large = std::int64_t{1} << 32;
  CHECK_THROWS_AS((Shape{large, large}), ContractError);
  CHECK((Shape{large, large, 0}).count() == 0);
  CHECK((Shape{large, 4}).count() == 4 * large);
  CHECK_THROWS_AS(Tensor::empty({large, large / 8}, DType::kFloat64), ContractError);  // 2^64 bytes
}

TEST_CASE("copies of a tensor share elements, clones do not", "[tensor]") {
  const Tensor tensor = counting({2, 3});
  const Tensor alias = tensor;
  const Tensor copy = tensor.clone();
  alias.span<float>()[4] = 9;
  CHECK(tensor.span<float>()[4] == 9);
  CHECK(copy.span<float>()[4] == 4);
  copy.copy_from(tensor);
  CHECK(copy.span<float>()[4] == 9);
  CHECK_THROWS_AS(copy.copy_from(counting({3, 2})), ContractError);
}

TEST_CASE("views see the elements they cover", "[tensor]") {
  const Tensor tensor = counting({4, 3});
  const Tensor middle = tensor.rows(1, 3);
  CHECK(middle.shape() == Shape{2, 3});
  CHECK(middle.span<float>()[0] == 3);
  CHECK(middle.storage() == tensor.storage());
  CHECK(middle.byte_offset() == 12);
  CHECK(middle.rows(1, 2).span<float>()[2] == 8);
  CHECK(tensor.rows(4, 4).count() == 0);
  CHECK(tensor.reshape({12}).span<float>()[11] == 11);
  CHECK(Tensor::view_of(tensor.storage(), 40, {2}, DType::kFloat32).span<float>()[1] == 11);
  CHECK_THROWS_AS(tensor.rows(3, 5), ContractError);
  CHECK_THROWS_AS(tensor.reshape({5}), ContractError);
  CHECK_THROWS_AS(Tensor::view_of(tensor.storage(), 44, {2}, DType::kFloat32), ContractError);
  CHECK_THROWS_AS(Tensor::view_of(tensor.storage(), 2, {2}, DType::kFloat32), ContractError);
}

TEST_CASE("zeros, fill_zero and item work on scalars and empty tensors", "[tensor]") {
  CHECK(Tensor::zeros({}).item() == 0);
  CHECK(Tensor::from<double>(std::vector{2.5}, {1}).item() == 2.5);
  const Tensor tensor = counting({5});
  tensor.fill_zero();
  for (const float value : tensor.span<float>()) CHECK(value == 0);
  CHECK(Tensor::zeros({0, 4}).count() == 0);
  CHECK_THROWS_AS(tensor.item(), ContractError);
  CHECK(Tensor::from<std::int32_t>(std::vector{-7}, {1}).item() == -7);
  CHECK_THROWS_WITH(Tensor::zeros({1}, DType::kBFloat16).item(), ContainsSubstring("item() is for float32"));
}

TEST_CASE("full and ones give every element the value, in each type of numbers", "[tensor]") {
  for (const float value : Tensor::ones({2, 3}).span<float>()) CHECK(value == 1.0F);
  CHECK(Tensor::ones({}, DType::kInt64).item() == 1);
  CHECK(Tensor::full({1}, 0.1).item() == static_cast<double>(0.1F));
  CHECK(Tensor::full({1}, 0.1, DType::kFloat64).item() == 0.1);
  CHECK(Tensor::full({1, 1}, -100, DType::kInt32).item() == -100);
  CHECK(Tensor::full({1}, -0x1p31, DType::kInt32).item() == -0x1p31);
  CHECK(Tensor::full({0, 3}, 7, DType::kInt64).count() == 0);
  const std::vector<double> misfits{2.5, 0x1p31, std::numeric_limits<double>::quiet_NaN()};
  for (const double value : misfits)
    CHECK_THROWS_WITH(Tensor::full({2}, value, DType::kInt32), ContainsSubstring("full() of int32"));
  CHECK_THROWS_AS(Tensor::full({2}, 0x1p63, DType::kInt64), ContractError);
  CHECK_THROWS_WITH(Tensor::full({2}, 1, DType::kUInt8), ContainsSubstring("not for uint8"));
}

TEST_CASE("misuse of a tensor is an error that says what is wrong", "[tensor]") {
  const Tensor undefined;
  CHECK_FALSE(undefined.is_defined());
  CHECK(undefined.count() == 0);
  CHECK_THROWS_AS(undefined.clone(), ContractError);
  CHECK_THROWS_AS(undefined.span<float>(), ContractError);
  CHECK_THROWS_WITH(counting({2}).span<double>(), ContainsSubstring("float32"));
  CHECK_THROWS_WITH(Tensor::from<float>(std::vector<float>(3), {2, 2}), ContainsSubstring("[2, 2]"));
}
