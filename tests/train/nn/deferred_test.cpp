// Parameters that are born without elements.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autograd/variable.hpp"
#include "base/error.hpp"
#include "device/memory_limit.hpp"
#include "device/storage.hpp"
#include "nn/gpt.hpp"
#include "nn/init.hpp"
#include "nn/layers.hpp"
#include "optim/adamw.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"

using namespace lockstep;

namespace {

const nn::GptConfig kSmall{
    .vocabulary_size = 60, .channels = 32, .head_count = 4, .layer_count = 2, .context_length = 24, .batch_size = 2};

bool has_equal_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const auto* const first = static_cast<const std::byte*>(a.const_data());
  return std::equal(first, first + a.bytes(), static_cast<const std::byte*>(b.const_data()));
}

std::size_t bytes_in_use() { return allocator_statistics().bytes_in_use; }

// A part of a parameter, as a rank of a sharded model makes it.
class Part : public nn::Module {
 public:
  Part(const nn::InitScope& scope, const Slice& slice)
      : weight(register_part("weight", scope.normal("weight", slice, 0.02), slice)) {}
  autograd::Variable weight;
};

class Given final : public autograd::ValueSource {
 public:
  explicit Given(Tensor values) : values_(std::move(values)) {}
  void fetch(autograd::Variable& parameter) override { parameter.adopt_value(values_); }

 private:
  Tensor values_;
};

// Parameters and gradients after a step.
std::vector<Tensor> train_step(nn::Gpt& model) {
  const Tensor tokens = Tensor::zeros({2, 24}, DType::kInt32);
  optim::AdamW optimizer(nn::weight_decay_groups(model, 0.1));
  model.loss(tokens, tokens, {.is_training = true}).backward();
  optimizer.step(1e-2);
  std::vector<Tensor> all;
  for (const autograd::Variable& parameter : model.parameters()) {
    all.push_back(parameter.value());
    all.push_back(parameter.gradient());
  }
  return all;
}

}  // namespace

TEST_CASE("a deferred model takes no memory until its values are asked for, and then has those of an eager one",
          "[nn][deferred]") {
  const std::size_t before = bytes_in_use();
  nn::Gpt model(kSmall, nn::InitScope(7).deferred());
  CHECK(bytes_in_use() == before);
  const nn::Gpt eager(kSmall, 7);
  const std::size_t with_eager = bytes_in_use();
  const auto named = model.named_parameters(), expected = eager.named_parameters();
  CHECK(model.parameter_count() == eager.parameter_count());
  CHECK(nn::weight_decay_groups(model, 0.1)[0].parameters.size() == 10);
  CHECK(bytes_in_use() == with_eager);
  REQUIRE(named.size() == expected.size());
  for (std::size_t i = 0; i < named.size(); ++i) {
    const autograd::Variable& parameter = named[i].parameter;
    INFO(named[i].name);
    CHECK_FALSE(parameter.has_value());
    CHECK(parameter.name() == expected[i].name);
    CHECK(parameter.shape() == expected[i].parameter.shape());
    CHECK(parameter.dtype() == DType::kFloat32);
    CHECK(parameter.device() == Device{});
    CHECK(has_equal_bits(parameter.value(), expected[i].parameter.value()));
    CHECK(parameter.has_value());
  }
}

TEST_CASE("a deferred model trains like an eager one", "[nn][deferred]") {
  nn::Gpt deferred(kSmall, nn::InitScope(7).deferred()), eager(kSmall, 7);
  const std::vector<Tensor> found = train_step(deferred), expected = train_step(eager);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(has_equal_bits(found[i], expected[i]));
}

TEST_CASE("a unit at a time: values are drawn, taken and let go, and never come again by themselves",
          "[nn][deferred]") {
  std::optional<nn::InitScope> scope = nn::InitScope(3, DType::kFloat64).deferred().child("h.3");
  const nn::Linear layer(6, 5, *scope);
  scope.reset();
  const autograd::Variable weight = layer.parameters().front();
  const std::size_t before = bytes_in_use();
  const Tensor copy = weight.value().clone();
  CHECK(has_equal_bits(
      copy, nn::InitScope(3, DType::kFloat64).child("h.3").uniform("weight", Shape{5, 6}, 1 / std::sqrt(6.0))));
  const std::size_t with_copy = bytes_in_use();
  CHECK(weight.release_value().is_defined());
  CHECK(bytes_in_use() < with_copy);
  CHECK_FALSE(weight.has_value());
  // Initial values in place of trained ones would be a mistake that nothing reports.
  CHECK_THROWS_AS(weight.value(), ContractError);
  weight.adopt_value(copy);
  CHECK(has_equal_bits(weight.value(), copy));
  CHECK(before <= bytes_in_use());
}

TEST_CASE("other values and another source take the place of a recipe that was never followed", "[nn][deferred]") {
  const nn::Linear layer(600, 500, nn::InitScope(3).deferred());
  const autograd::Variable weight = layer.parameters()[0], bias = layer.parameters()[1];
  const Tensor zeros = Tensor::zeros({500}), part = Tensor::zeros({500, 600});
  const std::size_t with_both = bytes_in_use();
  bias.adopt_value(zeros);
  CHECK(has_equal_bits(bias.value(), zeros));
  Given given(part);
  weight.set_value_source(&given);
  CHECK_FALSE(weight.has_value());
  CHECK(has_equal_bits(weight.value(), part));
  CHECK(bytes_in_use() == with_both);
  (void)weight.release_value();
  CHECK(weight.value().const_data() == part.const_data());
  weight.set_value_source(nullptr);
}

TEST_CASE("a deferred model moves to a device without being drawn, and draws there", "[nn][deferred][gpu]") {
  const Device device = test::accelerator();
  nn::Linear moved(6, 5, nn::InitScope(3).deferred()), made_there(6, 5, nn::InitScope(3, device).deferred());
  const nn::Linear eager(6, 5, 3);
  moved.to(device);
  for (const nn::Linear* layer : {&moved, &made_there}) {
    const autograd::Variable weight = layer->parameters().front();
    CHECK_FALSE(weight.has_value());
    CHECK(weight.device() == device);
    CHECK(has_equal_bits(weight.value().to(Device{}), eager.parameters().front().value()));
  }
}

TEST_CASE("buckets and skipped values work with deferred parameters", "[nn][deferred]") {
  const nn::Linear layer(6, 5, nn::InitScope(3).deferred()), eager(6, 5, 3);
  const Tensor place = Tensor::zeros({5, 6});
  layer.parameters().front().rebind_value(place);
  CHECK(has_equal_bits(place, eager.parameters().front().value()));

  const std::size_t before = bytes_in_use();
  const nn::Linear skipped(600, 500, nn::InitScope::skip_init().deferred());
  CHECK(bytes_in_use() == before);
  CHECK(skipped.parameters().front().value().shape() == Shape{500, 600});
  CHECK(bytes_in_use() > before);
}

TEST_CASE("a part of a deferred parameter draws only its own elements", "[nn][deferred][slice]") {
  const Shape whole{std::int64_t{1} << 30, 1 << 16};  // 256 TiB
  const Slice slice = Slice::of(whole).part({whole.count() - 1000, whole.count()});
  const Part part(nn::InitScope(5).deferred(), slice);
  CHECK_FALSE(part.weight.has_value());
  CHECK(part.weight.shape() == Shape{1000});
  CHECK(has_equal_bits(part.weight.value(), nn::InitScope(5).normal("weight", slice, 0.02)));
}

TEST_CASE("a model that is too large fails while it is made, or when its values are needed", "[nn][deferred]") {
  set_memory_limit({}, bytes_in_use() + (std::size_t{2} << 20));
  const auto refusal = [](const auto& make) -> std::string {
    try {
      make();
    } catch (const OutOfMemoryError& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(refusal([] { (void)nn::Linear(1024, 1024, nn::InitScope(1).child("fc1")); }),
             ContainsSubstring("4194304 bytes were asked for (initial values of fc1.weight)"));
  const nn::Linear deferred(1024, 1024, nn::InitScope(1).deferred().child("fc1"));
  const autograd::Variable weight = deferred.parameters().front();
  CHECK_THAT(refusal([&] { (void)weight.value(); }), ContainsSubstring("(initial values of fc1.weight)"));
  set_memory_limit({}, 0);
  CHECK(has_equal_bits(weight.value(), nn::Linear(1024, 1024, nn::InitScope(1).child("fc1")).parameters()[0].value()));
}
