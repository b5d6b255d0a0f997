// Mixed precision: what is bfloat16, what is not, and when weights are rounded.
#include "autograd/autocast.hpp"

#include <cmath>
#include <vector>

#include "autograd/functions.hpp"
#include "autograd/gradient_check.hpp"
#include "autograd/node.hpp"
#include "base/bfloat16.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::autograd;
using lockstep::test::random_tensor;
using lockstep::test::random_tokens;

namespace {

Variable float_parameter(const Shape& shape, std::uint64_t seed, const std::string& name) {
  return Variable::parameter(random_tensor(shape, seed, DType::kFloat32), name);
}

double to_double(float value) { return static_cast<double>(value); }

}  // namespace

TEST_CASE("autocast computes activations in bfloat16, and losses, parameters and their gradients stay float32",
          "[autograd][bf16]") {
  const Variable table = float_parameter({7, 8}, 1, "table"), positions = float_parameter({5, 8}, 2, "positions");
  const Variable gain = float_parameter({8}, 3, "gain"), bias = float_parameter({8}, 4, "bias");
  const Variable weight = float_parameter({8, 24}, 5, "weight"), weight_bias = float_parameter({24}, 6, "weight_bias");
  const Tensor tokens = random_tokens({2, 5}, 7, 1);
  Variable loss;
  {
    const Autocast autocast(true);
    const Variable embedded = embedding(tokens, table, positions);
    const Variable normalized = layer_norm(embedded, gain, bias, 1e-5);
    const Variable qkv = conv1d(normalized, weight, weight_bias);
    const Variable sum = add(attention(qkv, 2), gelu(normalized));
    for (const Variable& activation : {embedded, normalized, qkv, sum}) {
      CHECK(activation.value().dtype() == DType::kBFloat16);
    }
    loss = head_cross_entropy(sum, table, tokens);
  }
  CHECK(loss.value().dtype() == DType::kFloat32);
  loss.backward();  // outside of the guard: in the types of forward
  for (const Variable& parameter : {table, positions, gain, bias, weight, weight_bias}) {
    CHECK(parameter.value().dtype() == DType::kFloat32);
    CHECK(parameter.gradient().dtype() == DType::kFloat32);
  }
}

TEST_CASE("autocast ends with its guard, can be nested, and leaves float64 alone", "[autograd][bf16]") {
  const Variable x(random_tensor({3, 4}, 1, DType::kFloat32)), w = float_parameter({4, 4}, 2, "w");
  const Variable x64(random_tensor({3, 4}, 1)), w64 = test::random_parameter({4, 4}, 2);
  const auto dtype = [&] { return linear(x, w, {}).value().dtype(); };
  CHECK(dtype() == DType::kFloat32);
  {
    const Autocast on(true);
    CHECK(dtype() == DType::kBFloat16);
    CHECK(linear(x64, w64, {}).value().dtype() == DType::kFloat64);
    {
      const Autocast off(false);
      CHECK(dtype() == DType::kFloat32);
    }
    CHECK(dtype() == DType::kBFloat16);
  }
  CHECK(dtype() == DType::kFloat32);
}

TEST_CASE("a weight is rounded once and again only after it has changed", "[autograd][bf16]") {
  const Autocast autocast(true);
  const Variable one(Tensor::from<float>(std::array{1.0F}, {1, 1}));
  const Variable w = Variable::parameter(Tensor::from<float>(std::array{2.0F}, {1, 1}), "w");
  const auto product = [&] { return to_float(linear(one, w, {}).value().span<BFloat16>()[0]); };
  float& element = w.value().span<float>()[0];
  CHECK(product() == 2.0F);
  element = 3.0F;  // through an address from before, so that the copy that is kept shows
  CHECK(product() == 2.0F);
  w.zero_grad();
  CHECK(product() == 3.0F);

  w.value().span<float>()[0] = 4.0F;
  w.rebind_value(Tensor::empty({1, 1}));
  CHECK(product() == 4.0F);
}

TEST_CASE("writing to a weight needs no announcement", "[autograd][bf16]") {
  const Autocast autocast(true);
  const Variable one(Tensor::from<float>(std::array{1.0F}, {1, 1}));
  const Tensor own_place = Tensor::from<float>(std::array{0.0F, 2.0F}, {2, 1});
  const Variable w = Variable::parameter(own_place.rows(1, 2), "w");
  const auto product = [&] { return to_float(linear(one, w, {}).value().span<BFloat16>()[0]); };
  CHECK(product() == 2.0F);
  w.value().span<float>()[0] = 3.0F;
  CHECK(product() == 3.0F);
  *static_cast<float*>(w.value().data()) = 4.0F;
  CHECK(product() == 4.0F);
  w.value().copy_from(Tensor::from<float>(std::array{5.0F}, {1, 1}));
  CHECK(product() == 5.0F);
  own_place.span<float>()[1] = 6.0F;  // another view of the same memory
  CHECK(product() == 6.0F);
  w.value().fill_zero();
  CHECK(product() == 0.0F);
}

TEST_CASE("an embedding that a tied head multiplies with is read without being rounded again", "[autograd][bf16]") {
  const Autocast autocast(true);
  const Variable table = float_parameter({7, 8}, 1, "table");
  const void* const rounded = weight_for_product(table, DType::kBFloat16).const_data();
  float& element = table.value().span<float>()[0];
  (void)weight_for_product(table, DType::kBFloat16);
  element = 1000;  // not to be seen: nothing has asked for a writable address since
  (void)embedding(random_tokens({2, 5}, 7, 1), table, {});
  (void)table.value().clone();
  const Tensor again = weight_for_product(table, DType::kBFloat16);
  CHECK(again.const_data() == rounded);
  CHECK(to_float(again.span<BFloat16>()[0]) != 1000);
}

TEST_CASE("a graph keeps the rounded weights it was recorded with", "[autograd][bf16]") {
  const Autocast autocast(true);
  const Variable x = Variable::parameter(Tensor::from<float>(std::array{1.0F}, {1, 1}), "x");
  const Variable w = Variable::parameter(Tensor::from<float>(std::array{2.0F}, {1, 1}), "w");
  const Variable early = mse_loss(linear(x, w, {}), Tensor::zeros({1, 1}));
  w.value().span<float>()[0] = 16.0F;
  const Variable late = linear(x, w, {});
  early.backward();  // d (2 x)^2 / dx at 1
  CHECK(x.gradient().span<float>()[0] == 8.0F);
  CHECK(to_float(late.value().span<BFloat16>()[0]) == 16.0F);
}

TEST_CASE("a cast passes its gradient back in the type of its input", "[autograd][bf16]") {
  const Variable x = float_parameter({20}, 1, "x");
  const Tensor target = random_tensor({20}, 2, DType::kFloat32);
  mse_loss(cast(x, DType::kBFloat16), target).backward();
  for (std::size_t i = 0; i < 20; ++i) {
    const float rounded = to_float(to_bfloat16(x.value().span<float>()[i]));
    const float slope = 2 * (rounded - target.span<float>()[i]) / 20;
    // The gradient is rounded to bfloat16 once on its way.
    CHECK(std::abs(to_double(x.gradient().span<float>()[i]) - to_double(slope)) <=
          std::abs(to_double(slope)) / 256 + 1e-7);
  }
}

TEST_CASE("a weight is rounded anew for the other type of 16 bits, and a graph keeps its own copy",
          "[autograd][fp16]") {
  const Variable w = float_parameter({4, 4}, 2, "w");
  const auto dtype_of_copy = [&](DType dtype) { return weight_for_product(w, dtype).dtype(); };
  const Tensor half = weight_for_product(w, DType::kFloat16);
  const SavedWeight saved(w, half);
  CHECK(half.dtype() == DType::kFloat16);
  CHECK(weight_for_product(w, DType::kFloat16).const_data() == half.const_data());
  CHECK(dtype_of_copy(DType::kBFloat16) == DType::kBFloat16);
  CHECK(dtype_of_copy(DType::kFloat16) == DType::kFloat16);
  CHECK(saved.get().const_data() == half.const_data());
}

TEST_CASE("autocast to float16 on the CPU says what to use instead", "[autograd][fp16]") {
  const Variable x(random_tensor({3, 4}, 1, DType::kFloat32)), w = float_parameter({4, 4}, 2, "w");
  const Autocast autocast(MixedPrecision::kFp16);
  CHECK(autocast_precision() == MixedPrecision::kFp16);
  CHECK_THROWS_WITH((void)linear(x, w, {}), ContainsSubstring("the CPU does not compute in float16; use bfloat16"));
}
