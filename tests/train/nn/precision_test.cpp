// The whole GPT in mixed precision and with activation checkpointing.
#include <array>
#include <cmath>
#include <vector>

#include "autograd/autocast.hpp"
#include "autograd/gradient_check.hpp"
#include "device/storage.hpp"
#include "nn/gpt.hpp"
#include "optim/adamw.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using lockstep::test::random_tokens;

namespace {

nn::GptConfig config(double dropout = 0) { return {"test", 50, 32, 4, 2, 16, 6, dropout}; }

struct Batch {
  Tensor inputs = random_tokens({6, 16}, 50, 1), targets = random_tokens({6, 16}, 50, 2);
  std::array<std::int64_t, 6> samples{5, 17, 2, 8, 1, 1000};
  nn::ForwardContext context{true, 1, 4, samples};
};

std::vector<std::vector<double>> gradients_of(const nn::Gpt& model) {
  std::vector<std::vector<double>> all;
  for (const auto& parameter : model.parameters()) {
    const Tensor& gradient = parameter.gradient();
    if (gradient.dtype() == DType::kFloat64) {
      all.emplace_back(gradient.span<double>().begin(), gradient.span<double>().end());
    } else {
      all.emplace_back(gradient.span<float>().begin(), gradient.span<float>().end());
    }
  }
  return all;
}

double norm_of(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

std::vector<double> losses_of_training(bool is_bfloat16, int steps) {
  const autograd::Autocast autocast(is_bfloat16);
  const Batch batch;
  nn::Gpt model(config(), 1);
  optim::AdamW optimizer(nn::weight_decay_groups(model, 0.1));
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    const autograd::Variable loss = model.loss(batch.inputs, batch.targets);
    losses.push_back(loss.value().item());
    loss.backward();
    optimizer.step(3e-3);
  }
  return losses;
}

}  // namespace

TEST_CASE("a GPT's gradients in bfloat16 are those of float64 up to the roundings on the way", "[nn][bf16]") {
  const Batch batch;
  const nn::Gpt model(config(0.2), 3), reference(config(0.2), {3, DType::kFloat64});
  const autograd::Variable exact = reference.loss(batch.inputs, batch.targets, batch.context);
  exact.backward();
  autograd::Variable loss;
  {
    const autograd::Autocast autocast(true);
    loss = model.loss(batch.inputs, batch.targets, batch.context);
  }
  loss.backward();
  // From embedding to logits an activation is rounded 22 times (10 in each block), and a rounded weight meets it 9
  // times; gradients are rounded as often on the way back. Independent relative errors of at most 2^-8 add in squares.
  const double tolerance = std::sqrt(2.0 * (22 + 9)) / 256;
  // Logits start near 0.11 in deviation (0.02 sqrt(32)), so a loss of ln 50 depends on them only that much.
  CHECK(std::abs(loss.value().item() - exact.value().item()) < 0.11 * tolerance);
  const auto found = gradients_of(model), expected = gradients_of(reference);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::vector<double> difference = found[i];
    for (std::size_t j = 0; j < difference.size(); ++j) difference[j] -= expected[i][j];
    INFO(model.named_parameters()[i].name);
    CHECK(norm_of(difference) < tolerance * norm_of(expected[i]));
  }
}

TEST_CASE("a GPT trained in bfloat16 learns as one in float32", "[nn][bf16]") {
  const std::vector<double> exact = losses_of_training(false, 40), rounded = losses_of_training(true, 40);
  CHECK(rounded != exact);
  CHECK(exact.back() < 2.5);  // it learns these samples by heart, from ln 50 = 3.9
  // Each step's gradient is off by 3 % at most, as above, so the way down is as long to within about as much.
  for (std::size_t i = 0; i < exact.size(); ++i) CHECK(rounded[i] == Approx(exact[i]).epsilon(0.03));
}

TEST_CASE("scores for generating text are float32 under autocast", "[nn][bf16]") {
  const nn::Gpt model(config(), 1);
  const autograd::Autocast autocast(true);
  CHECK(model.logits(random_tokens({1, 5}, 50, 1)).value().dtype() == DType::kFloat32);
}

TEST_CASE("activation checkpointing changes no gradient, dropout and bfloat16 included", "[nn][checkpoint]") {
  const bool is_bfloat16 = GENERATE(false, true);
  const Batch batch;
  const auto run = [&](bool is_checkpointed) {
    nn::GptConfig sizes = config(0.2);
    sizes.activation_checkpointing = is_checkpointed;
    const nn::Gpt model(sizes, 3);
    autograd::Variable loss;
    {
      const autograd::Autocast autocast(is_bfloat16);
      // Sample ids that are gone when backward draws the masks again.
      const std::vector<std::int64_t> samples(batch.samples.begin(), batch.samples.end());
      loss = model.loss(batch.inputs, batch.targets, {true, 1, 4, samples});
    }
    loss.backward();
    return gradients_of(model);
  };
  CHECK(run(true) == run(false));
}

TEST_CASE("activation checkpointing lowers the peak of a deep GPT's memory", "[nn][checkpoint]") {
  const Tensor inputs = random_tokens({8, 32}, 50, 1), targets = random_tokens({8, 32}, 50, 2);
  const auto peak = [&](bool is_checkpointed) {
    nn::GptConfig sizes{"test", 50, 32, 4, 8, 32, 8};
    sizes.activation_checkpointing = is_checkpointed;
    const nn::Gpt model(sizes, 3);
    model.loss(inputs, targets).backward();  // makes the gradients
    const std::size_t before = allocator_statistics().bytes_in_use;
    reset_peak();
    model.loss(inputs, targets).backward();
    return allocator_statistics().peak_bytes_in_use - before;
  };
  // A block keeps some 16 C numbers of each token (qkv, attention, two sums and norms, twice 4 C in the MLP); of that
  // 2 C remain, and one block at a time is whole: (8 * 2 + 16) / (8 * 16) = 1/4. Half leaves room for logits.
  CHECK(peak(true) * 2 < peak(false));
}
