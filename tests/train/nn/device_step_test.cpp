// One training step on the CPU and on a device: losses, gradients and weights.
#include <algorithm>
#include <cmath>
#include <vector>

#include "autograd/autocast.hpp"
#include "base/philox.hpp"
#include "kernels/elementwise.hpp"
#include "nn/gpt.hpp"
#include "nn/init.hpp"
#include "optim/adamw.hpp"
#include "optim/clip.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"

using namespace lockstep;

namespace {

constexpr std::int64_t kSamples = 3, kLength = 9, kVocabulary = 37;
// Far above the gradients' rounding errors: if a gradient is nearly 0, Adam's step with its usual epsilon would turn
// the sign of such an error into a whole step.
constexpr double kLearningRate = 1e-2, kEpsilon = 1e-2;

Tensor random_tokens(std::uint64_t seed) {
  PhiloxSequence random(seed);
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < kSamples * kLength; ++i)
    tokens.push_back(static_cast<std::int32_t>(random.next_below(kVocabulary)));
  return Tensor::from(std::span<const std::int32_t>(tokens), {kSamples, kLength});
}

/// The results of a step on one device, in host memory.
struct Step {
  double loss, norm;
  std::vector<std::string> names;
  std::vector<Tensor> gradients, weights;
};

/// @param loss_scale  Gradients are of the loss times this, and are divided by it in float32.
Step take_step(Device device, MixedPrecision precision, bool is_checkpointing = false, double loss_scale = 1) {
  const autograd::Autocast autocast(precision);
  const nn::GptConfig config{.vocabulary_size = kVocabulary,
                             .channels = 24,
                             .head_count = 3,
                             .layer_count = 2,
                             .context_length = 12,
                             .dropout = 0.1,
                             .activation_checkpointing = is_checkpointing};
  nn::Gpt model(config, {5, device});
  optim::AdamW optimizer(nn::weight_decay_groups(model, 0.1), {.epsilon = kEpsilon});
  const std::vector<std::int64_t> ids{11, 3, 1000};
  const nn::ForwardContext context{.is_training = true, .seed = 9, .step = 4, .sample_ids = ids};
  Step step{};
  for (const std::uint64_t part : {1, 2}) {  // two micro-batches: gradients are written, then added to
    const autograd::Variable loss = model.loss(random_tokens(part), random_tokens(part + 10), context);
    step.loss += loss.value().item() / 2;
    loss.backward(0.5 * loss_scale);
  }
  for (const autograd::Variable& parameter : model.parameters()) kernels::scale(parameter.gradient(), 1 / loss_scale);
  step.norm = optim::clip_grad_norm(model.parameters(), 0.5);
  for (const nn::NamedParameter& named : model.named_parameters()) {
    step.names.push_back(named.name);
    CHECK(named.parameter.value().device() == device);
    step.gradients.push_back(named.parameter.gradient().to(Device{}).clone());
  }
  optimizer.step(kLearningRate);
  for (const autograd::Variable& parameter : model.parameters())
    step.weights.push_back(parameter.value().to(Device{}).clone());
  return step;
}

double largest(const Tensor& values) {
  double most = 0;
  for (const float value : values.span<float>()) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

double worst_difference(const Tensor& a, const Tensor& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.span<float>().size(); ++i) {
    const double difference =
        std::abs(static_cast<double>(a.span<float>()[i]) - static_cast<double>(b.span<float>()[i]));
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
  }
  return worst;
}

/// @param bound  Of a gradient's error, in units of the largest gradient of all: a tensor whose own gradients nearly
///               cancel (the keys' bias) is no more exact than what it is summed from.
void check_equal_steps(const Step& here, const Step& there, double bound) {
  double most = 0;
  for (const Tensor& gradient : here.gradients) most = std::max(most, largest(gradient));
  CHECK(std::abs(here.loss - there.loss) <= bound * here.loss);
  CHECK(std::abs(here.norm - there.norm) <= bound * here.norm * std::sqrt(static_cast<double>(here.names.size())));
  for (std::size_t i = 0; i < here.names.size(); ++i) {
    INFO(here.names[i]);
    CHECK(worst_difference(here.gradients[i], there.gradients[i]) <= bound * most);
    // p -= rate * g / (|g| + epsilon) on the first step: its slope in g is at most rate / epsilon; and p is rounded.
    const double of_update = kLearningRate / kEpsilon * bound * most + 4 * 0x1p-24 * largest(here.weights[i]);
    CHECK(worst_difference(here.weights[i], there.weights[i]) <= of_update);
  }
}

// A gradient has come through about 60 operations (two blocks of 13, there and back), each rounded once, and sums of up
// to 96 terms: at most 156 roundoffs of 2^-24 that add up, of numbers that may be a few times larger than the result.
constexpr double kFloat32Bound = 4 * 156 * 0x1p-24;
// If two devices sum in different orders, any of the 60 roundings to bfloat16 may fall the other way: 2^-8 each.
constexpr double kBFloat16Bound = 60 * 0x1p-8;
// Beside float32, each of the 60 results and the weights of 9 products are rounded to float16: 2^-11 each.
constexpr double kFloat16Bound = (60 + 2 * 9) * 0x1p-11;

}  // namespace

TEST_CASE("a training step on a device agrees with the CPU's: loss, gradients, weights", "[nn][gpu]") {
  const Device device = test::accelerator();
  check_equal_steps(take_step(Device{}, MixedPrecision::kNo), take_step(device, MixedPrecision::kNo), kFloat32Bound);
}

TEST_CASE("a training step in bfloat16 on a device agrees with the CPU's", "[nn][gpu]") {
  const Device device = test::accelerator();
  check_equal_steps(take_step(Device{}, MixedPrecision::kBf16), take_step(device, MixedPrecision::kBf16),
                    kBFloat16Bound);
}

TEST_CASE("a training step in float16 on a device agrees with float32 on the CPU", "[nn][gpu][fp16]") {
  const Device device = test::accelerator();
  const bool is_checkpointing = GENERATE(false, true);
  const Step exact = take_step(Device{}, MixedPrecision::kNo);
  const Step rounded = take_step(device, MixedPrecision::kFp16, is_checkpointing, 1024);
  check_equal_steps(exact, rounded, kFloat16Bound);
  CHECK(rounded.loss != exact.loss);
}

TEST_CASE("a step on a device repeats bit for bit, with checkpointed activations too", "[nn][gpu]") {
  const Device device = test::accelerator();
  const Step first = take_step(device, MixedPrecision::kNo);
  check_equal_steps(first, take_step(device, MixedPrecision::kNo), 0);
  check_equal_steps(first, take_step(device, MixedPrecision::kNo, true), 0);
}

TEST_CASE("a token out of range on a device is an error of the loss that it reaches", "[nn][gpu]") {
  nn::Gpt model({.vocabulary_size = 8, .channels = 8, .head_count = 1, .layer_count = 1, .context_length = 4},
                {1, test::accelerator()});
  const std::vector<std::int32_t> good{1, 2, 3, 7}, bad{1, 2, 8, 3};
  const auto tokens = [](const std::vector<std::int32_t>& ids) {
    return Tensor::from(std::span<const std::int32_t>(ids), {1, 4});
  };
  CHECK_THROWS_WITH((void)model.loss(tokens(bad), tokens(good)), ContainsSubstring("token 8 at 2"));
  CHECK_THROWS_WITH((void)model.loss(tokens(good), tokens(bad)), ContainsSubstring("target 8 at 2"));
  CHECK(std::isfinite(model.loss(tokens(good), tokens(good)).value().item()));
}

TEST_CASE("a part of a batch without targets adds nothing, on a device as on the CPU", "[nn][gpu]") {
  const Device device = GENERATE(Device{}, test::accelerator());
  const MixedPrecision precision = GENERATE(MixedPrecision::kNo, MixedPrecision::kBf16, MixedPrecision::kFp16);
  if (device.is_cpu() && precision == MixedPrecision::kFp16) return;  // only devices compute in it
  nn::Gpt model({.vocabulary_size = 8, .channels = 8, .head_count = 1, .layer_count = 1, .context_length = 4},
                {1, device});
  const autograd::Autocast autocast(precision);
  const std::vector<std::int32_t> ids{1, 2, 3, 7}, none(4, -100);
  const Tensor tokens = Tensor::from(std::span<const std::int32_t>(ids), {1, 4});
  const autograd::Variable loss = model.loss(tokens, Tensor::from(std::span<const std::int32_t>(none), {1, 4}));
  CHECK(loss.value().item() == 0);
  loss.backward();
  for (const nn::NamedParameter& named : model.named_parameters()) {
    INFO(named.name);
    CHECK(largest(named.parameter.gradient().to(Device{})) == 0);
  }
}
