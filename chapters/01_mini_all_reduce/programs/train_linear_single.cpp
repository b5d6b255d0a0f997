// Fits a linear layer, 10 inputs to 2 outputs, to synthetic data. Prints the
// loss of every step with all its digits: two runs can be compared exactly.
#include <cstdio>

#include "autograd/functions.hpp"
#include "base/command_line.hpp"
#include "base/philox.hpp"
#include "nn/layers.hpp"
#include "optim/sgd.hpp"

using namespace lockstep;

namespace {

constexpr std::int64_t kInputs = 10;
constexpr std::int64_t kOutputs = 2;

struct Options {
  std::int64_t steps = 20;
  std::int64_t batch_size = 48;
  double learning_rate = 0.1;
  std::uint64_t seed = 1;
};

struct Data {
  Tensor inputs;  // [N, 10]
  Tensor targets;  // [N, 2]
};

// Inputs are normal. Target j is a fixed mix of the inputs, with weights from
// -1 to 1, so that there is a rule to learn; a little noise stays unexplained.
Data make_data(std::int64_t count, std::uint64_t seed) {
  PhiloxSequence random(seed);
  const auto normal = [&] {
    const std::uint32_t word = random.next_word();
    return normal_floats(word, random.next_word())[0];
  };
  Data data{Tensor::zeros({count, kInputs}), Tensor::zeros({count, kOutputs})};
  const std::span<float> inputs = data.inputs.span<float>();
  const std::span<float> targets = data.targets.span<float>();
  for (std::int64_t row = 0; row < count; ++row) {
    for (std::int64_t j = 0; j < kOutputs; ++j)
      targets[row * kOutputs + j] = 0.01F * normal();
    for (std::int64_t i = 0; i < kInputs; ++i) {
      const float input = inputs[row * kInputs + i] = normal();
      for (std::int64_t j = 0; j < kOutputs; ++j) {
        const auto weight = static_cast<float>((3 * i + 7 * j) % 11 - 5) / 5;
        targets[row * kOutputs + j] += weight * input;
      }
    }
  }
  return data;
}

void train(const Options& options) {
  const Data data = make_data(options.steps * options.batch_size, options.seed);
  nn::Linear model(kInputs, kOutputs, options.seed);
  optim::Sgd optimizer(model);

  for (std::int64_t step = 0; step < options.steps; ++step) {
    const std::int64_t begin = step * options.batch_size;
    const std::int64_t end = begin + options.batch_size;
    const autograd::Variable inputs(data.inputs.rows(begin, end));  // [B, 10]
    const Tensor targets = data.targets.rows(begin, end);  // [B, 2]

    optimizer.zero_grad();
    const autograd::Variable outputs = model.forward(inputs);  // [B, 2]
    autograd::Variable loss = autograd::mse_loss(outputs, targets);  // scalar
    loss.backward();
    optimizer.step(options.learning_rate);
    double mean_loss = loss.value().item();
    std::printf("step %ld loss %.9g\n", step + 1, mean_loss);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Fits a linear layer to synthetic data");
  Options options;
  const OptionCheck positive = whole_number(1);
  app.add_option("--steps", options.steps, "Number of updates").check(positive);
  app.add_option("--batch-size", options.batch_size, "Samples per update")
      .check(positive);
  app.add_option("--learning-rate", options.learning_rate, "Used by plain SGD");
  app.add_option("--seed", options.seed, "Seed for data and initial weights");
  return run_main(app, argc, argv, [&] {
    train(options);
    return 0;
  });
}
