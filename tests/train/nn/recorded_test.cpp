// Loss, logits and every gradient against values that record_pytorch.py wrote.
#include "nn/recorded.hpp"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "autograd/functions.hpp"
#include "nn/gpt.hpp"
#include "nn/layers.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::test;
using nlohmann::json;

// Ten digits are recorded, so float64 agrees to 1e-9; float32 to some hundred roundings of 6e-8.
TEMPLATE_TEST_CASE("a small GPT's loss, logits and gradients are PyTorch's", "[nn]", double, float) {
  const double tolerance = std::is_same_v<TestType, double> ? 1e-9 : 1e-5;
  nn::Gpt model({"recorded", 11, 8, 2, 2, 5}, {1, dtype_of<TestType>});
  set_parameters(model);
  const Tensor inputs = from_formula<std::int32_t>({2, 5}, [](std::int64_t i) { return (3 * i * i + i) % 11; });
  const Tensor targets = from_formula<std::int32_t>({2, 5}, [](std::int64_t i) { return (5 * i + 2) % 11; });
  const json expected = recorded("pytorch_values.json").at("gpt");

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
  const json expected = recorded("pytorch_values.json").at("mlp");

  CHECK(difference(model.forward(inputs).value(), expected.at("logits")) < tolerance);
  const autograd::Variable loss = autograd::cross_entropy(model.forward(inputs), targets);
  CHECK(loss.value().item() == Approx(expected.at("loss").get<double>()).epsilon(tolerance));
  loss.backward();
  check_gradients(model, expected.at("gradients"), tolerance);
}
