// Loss, logits and every gradient against values that record_pytorch.py wrote.
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "autograd/functions.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "nn/gpt.hpp"
#include "nn/layers.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using nlohmann::json;

namespace {

json recorded(const std::string& model) {
  return parse_json(read_file(LOCKSTEP_SOURCE_DIR "/tests/nn/pytorch_values.json")).at(model);
}

template <typename T, typename Formula>
Tensor from_formula(const Shape& shape, const Formula& formula) {
  Tensor tensor = Tensor::empty(shape, dtype_of<T>);
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    tensor.span<T>()[static_cast<std::size_t>(i)] = static_cast<T>(formula(i));
  return tensor;
}

double element(const Tensor& tensor, std::size_t index) {
  return tensor.dtype() == DType::kFloat64 ? tensor.span<double>()[index]
                                           : static_cast<double>(tensor.span<float>()[index]);
}

// The recorder's parameters: a formula of (parameter number, element).
void set_parameters(const nn::Module& module) {
  int number = 0;
  for (const nn::NamedParameter& named : module.named_parameters()) {
    const auto formula = [number](std::int64_t i) {
      return 0.5 * std::sin(1.0 + 0.7 * number + 1.3 * static_cast<double>(i));
    };
    const Tensor& value = named.parameter.value();
    value.copy_from(value.dtype() == DType::kFloat64 ? from_formula<double>(value.shape(), formula)
                                                     : from_formula<float>(value.shape(), formula));
    ++number;
  }
}

// The largest difference, relative to the largest recorded element (or 1e-3, for gradients that are all tiny).
double difference(const Tensor& ours, const json& theirs) {
  REQUIRE(static_cast<std::size_t>(ours.count()) == theirs.size());
  double largest_difference = 0, largest = 1e-3;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const auto expected = theirs[i].get<double>();
    largest_difference = std::max(largest_difference, std::abs(element(ours, i) - expected));
    largest = std::max(largest, std::abs(expected));
  }
  return largest_difference / largest;
}

void check_gradients(const nn::Module& module, const json& gradients, double tolerance) {
  CHECK(module.named_parameters().size() == gradients.size());
  for (const nn::NamedParameter& named : module.named_parameters()) {
    INFO(named.name);
    CHECK(difference(named.parameter.gradient(), gradients.at(named.name)) < tolerance);
  }
}

}  // namespace

// Ten digits are recorded, so float64 agrees to 1e-9; float32 to some hundred roundings of 6e-8.
TEMPLATE_TEST_CASE("a small GPT's loss, logits and gradients are PyTorch's", "[nn]", double, float) {
  const double tolerance = std::is_same_v<TestType, double> ? 1e-9 : 1e-5;
  nn::Gpt model({"recorded", 11, 8, 2, 2, 5}, {1, dtype_of<TestType>});
  set_parameters(model);
  const Tensor inputs = from_formula<std::int32_t>({2, 5}, [](std::int64_t i) { return (3 * i * i + i) % 11; });
  const Tensor targets = from_formula<std::int32_t>({2, 5}, [](std::int64_t i) { return (5 * i + 2) % 11; });
  const json expected = recorded("gpt");

  const autograd::Variable loss = model.loss(inputs, targets);
  CHECK(loss.value().item() == Approx(expected.at("loss").get<double>()).epsilon(tolerance));
  loss.backward();
  check_gradients(model, expected.at("gradients"), tolerance);

  CHECK(difference(model.logits(inputs).value(), expected.at("logits")) < tolerance);
  const Tensor last = model.logits(inputs, nn::Gpt::Positions::kLast).value();  // [B, V]
  const Tensor all = model.logits(inputs).value();                              // [B, T, V]
  for (std::size_t i = 0; i < 22; ++i) CHECK(element(last, i) == Approx(element(all, (i / 11 * 5 + 4) * 11 + i % 11)));
}

TEMPLATE_TEST_CASE("a small MLP's loss and gradients are PyTorch's", "[nn]", double, float) {
  const double tolerance = std::is_same_v<TestType, double> ? 1e-9 : 1e-5;
  nn::Mlp model(4, 5, 3, {1, dtype_of<TestType>});
  set_parameters(model);
  const autograd::Variable inputs(
      from_formula<TestType>({3, 4}, [](std::int64_t i) { return std::cos(0.4 * static_cast<double>(i)); }));
  const Tensor targets = Tensor::from<std::int32_t>(std::array{1, 0, 2}, {3});
  const json expected = recorded("mlp");

  CHECK(difference(model.forward(inputs).value(), expected.at("logits")) < tolerance);
  const autograd::Variable loss = autograd::cross_entropy(model.forward(inputs), targets);
  CHECK(loss.value().item() == Approx(expected.at("loss").get<double>()).epsilon(tolerance));
  loss.backward();
  check_gradients(model, expected.at("gradients"), tolerance);
}
