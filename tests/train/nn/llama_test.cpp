// A LLaMA written by a user, against what record_pytorch_llama.py wrote.
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nn/llama_model.hpp"
#include "nn/recorded.hpp"
#include "optim/adamw.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::test;
using nlohmann::json;

namespace {

constexpr LlamaConfig kConfig{13, 16, 2, 24, 2, 6};

Tensor tokens() {
  return from_formula<std::int32_t>({3, 6}, [](std::int64_t i) { return (3 * i * i + i) % 13; });
}
Tensor targets() {
  return from_formula<std::int32_t>({3, 6}, [](std::int64_t i) { return (5 * i + 2) % 13; });
}

// The recorder's three groups: matrices decay, norms do not, the embedding learns at half the rate.
std::vector<nn::ParameterGroup> groups_of(const nn::Module& model) {
  std::vector<nn::ParameterGroup> groups(3);
  groups[0].weight_decay = groups[2].weight_decay = 0.1;
  groups[2].learning_rate_scale = 0.5;
  for (const nn::NamedParameter& named : model.named_parameters()) {
    const bool is_embedding = named.name == "model.embed_tokens.weight";
    const bool is_norm = named.parameter.value().shape().rank() == 1;
    groups[is_embedding ? 2 : is_norm ? 1 : 0].parameters.push_back(named);
  }
  return groups;
}

// Trains on `device` and compares every loss with PyTorch's.
void check_training(Device device) {
  Llama model(kConfig, 1);
  set_parameters(model);
  model.to(device);
  optim::AdamW optimizer(groups_of(model), {.epsilon = 1e-3});
  // A loss comes through about 80 roundings of 2^-24 of numbers up to 2.5: 1.2e-5 at worst. Adam makes at most
  // rate / epsilon = 10 times as much of a gradient's error, some 1e-7 of gradients below 1: 1e-6 a step, which the
  // next steps mostly take back. Each step moves the loss by 0.03 or more.
  constexpr double kTolerance = 2e-5;
  const auto losses = recorded("pytorch_llama.json").at("losses").get<std::vector<double>>();
  REQUIRE(losses.size() == 20);
  double before = 0;
  for (const double expected : losses) {
    optimizer.zero_grad();
    const Variable loss = model.loss(tokens(), targets());
    CHECK(std::abs(loss.value().item() - expected) < kTolerance);
    CHECK(std::abs(expected - before) > 1000 * kTolerance);  // each step is told from the one before
    before = expected;
    loss.backward();
    optimizer.step(1e-2);
  }
}

}  // namespace

// Ten digits are recorded, so float64 agrees to 1e-9; float32 to some hundred roundings of 6e-8.
TEMPLATE_TEST_CASE("a LLaMA in user code has PyTorch's loss, logits and gradients", "[nn]", double, float) {
  const double tolerance = std::is_same_v<TestType, double> ? 1e-9 : 1e-5;
  const Llama model(kConfig, {1, dtype_of<TestType>});
  set_parameters(model);
  const json expected = recorded("pytorch_llama.json");
  CHECK(difference(model.logits(tokens()).value(), expected.at("logits")) < tolerance);
  const Variable loss = model.loss(tokens(), targets());
  CHECK(loss.value().item() == Approx(expected.at("loss").get<double>()).epsilon(tolerance));
  loss.backward();
  check_gradients(model, expected.at("gradients"), tolerance);
}

TEST_CASE("a LLaMA in user code trains as PyTorch's does", "[nn]") { check_training({}); }

TEST_CASE("a LLaMA in user code trains on a device as PyTorch's does on the CPU", "[nn][gpu]") {
  check_training(test::accelerator());
}
