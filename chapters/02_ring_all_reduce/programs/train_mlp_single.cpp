// Trains a 784-256-10 perceptron on synthetic pictures of ten classes. Prints
// the loss of every step with all its digits: two runs can be compared exactly.
#include <cstdio>

#include "autograd/functions.hpp"
#include "base/command_line.hpp"
#include "base/philox.hpp"
#include "device/device.hpp"
#include "nn/layers.hpp"
#include "optim/adamw.hpp"

using namespace lockstep;

namespace {

constexpr std::int64_t kPixels = 784;  // 28 x 28, as the digits of MNIST
constexpr std::int64_t kHidden = 256;
constexpr std::int64_t kClasses = 10;

struct Options {
  std::int64_t steps = 20;
  std::int64_t batch_size = 48;
  double learning_rate = 1e-3;
  std::uint64_t seed = 1;
  std::string device = "cpu";
};

struct Data {
  Tensor inputs;  // [N, 784] float32
  Tensor targets;  // [N] int32, the class
};

// Each class has a picture of its own, drawn at random once; a sample is its
// class's picture under noise twice as strong. That can be learned, and no
// pixel alone gives the class away.
Data make_data(std::int64_t count, std::uint64_t seed) {
  PhiloxSequence random(seed);
  const auto normal = [&] {
    const std::uint32_t word = random.next_word();
    return normal_floats(word, random.next_word())[0];
  };
  std::vector<float> pictures(kClasses * kPixels);
  for (float& pixel : pictures) pixel = 0.5F * normal();

  Data data{Tensor::zeros({count, kPixels}),
            Tensor::zeros({count}, DType::kInt32)};
  const std::span<float> inputs = data.inputs.span<float>();
  const std::span<std::int32_t> targets = data.targets.span<std::int32_t>();
  for (std::int64_t row = 0; row < count; ++row) {
    const auto label = static_cast<std::int32_t>(random.next_below(kClasses));
    targets[row] = label;
    for (std::int64_t i = 0; i < kPixels; ++i)
      inputs[row * kPixels + i] = pictures[label * kPixels + i] + normal();
  }
  return data;
}

void train(const Options& options) {
  const Device device = Device::parse(options.device);
  const Data data = make_data(options.steps * options.batch_size, options.seed);
  nn::Mlp model(kPixels, kHidden, kClasses, {options.seed, device});
  optim::Adam optimizer(model);

  for (std::int64_t step = 0; step < options.steps; ++step) {
    const std::int64_t begin = step * options.batch_size;
    const std::int64_t end = begin + options.batch_size;
    const Tensor targets = data.targets.rows(begin, end).to(device);  // [B]
    const autograd::Variable inputs(
        data.inputs.rows(begin, end).to(device));  // [B, 784]

    optimizer.zero_grad();
    const autograd::Variable logits = model.forward(inputs);  // [B, 10]
    autograd::Variable loss = autograd::cross_entropy(logits, targets);
    loss.backward();
    optimizer.step(options.learning_rate);
    double mean_loss = loss.value().item();
    std::printf("step %ld loss %.9g\n", step + 1, mean_loss);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Trains a perceptron on synthetic pictures");
  Options options;
  const OptionCheck positive = whole_number(1);
  app.add_option("--steps", options.steps, "Number of updates").check(positive);
  app.add_option("--batch-size", options.batch_size, "Samples per update")
      .check(positive);
  app.add_option("--learning-rate", options.learning_rate, "Used by Adam");
  app.add_option("--seed", options.seed, "Seed for data and initial weights");
  app.add_option("--device", options.device, "cpu, emulated or cuda");
  return run_main(app, argc, argv, [&] {
    train(options);
    return 0;
  });
}
