// Training in float16 on a device, on one rank and on two: it follows float32, gradients that underflow are saved by
// the scaler, and an overflow makes all ranks skip the step.
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "08_accelerate/accelerator.hpp"
#include "base/error.hpp"
#include "digits.hpp"
#include "support/accelerator.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::test;
using accelerate::Accelerator;
using accelerate::AcceleratorOptions;

namespace {

constexpr std::int64_t kHalfBatchSize = 6;  // of all ranks together
constexpr std::int64_t kHalfUpdates = 12;   // 72 samples

// The results of a training run on one rank.
struct HalfCourse {
  std::vector<float> first = {}, last = {};  // parameters before and after it
  std::vector<double> losses = {}, scales = {};
  std::vector<bool> skipped = {}, is_unchanged = {};
  bool has_half_logits = true;
};

// How a rank's share of the loss is weighted: rank r's by weights[r].
using Weights = std::vector<double>;

HalfCourse train(Accelerator& accelerator, const Weights& weights) {
  Training training(kHalfUpdates * kHalfBatchSize, {.batch_size = kHalfBatchSize}, accelerator.device());
  auto [net, adam, batches, rate] =
      accelerator.prepare(training.model, training.optimizer, training.loader, training.schedule);
  const double weight = weights.at(static_cast<std::size_t>(accelerator.process_index()));
  HalfCourse course{.first = values_of(training.model)};
  for (const data::Batch& batch : batches) {
    const auto scope = accelerator.accumulate(net);
    autograd::Variable loss;
    {
      const auto precision = accelerator.autocast();
      adam.zero_grad();
      const autograd::Variable logits = net->forward(autograd::Variable(batch.inputs));
      course.has_half_logits = course.has_half_logits && logits.dtype() == DType::kFloat16;
      loss = autograd::cross_entropy(logits, batch.targets);
    }
    course.losses.push_back(loss.value().item());
    accelerator.backward(loss, weight);
    const std::vector<float> before = values_of(training.model);
    adam.step(rate.get_last_lr());
    rate.step();
    course.is_unchanged.push_back(values_of(training.model) == before);
    course.skipped.push_back(accelerator.optimizer_step_was_skipped());
    course.scales.push_back(accelerator.scaler() == nullptr ? 1 : accelerator.scaler()->get_scale());
  }
  course.last = values_of(training.model);
  return course;
}

std::vector<HalfCourse> train_on(int world_size, MixedPrecision precision, const Weights& weights,
                                 std::optional<optim::GradScalerOptions> scaler = std::nullopt) {
  const Device device = test::accelerator();
  return run_ranks_for<HalfCourse>(world_size, [&](comm::JobContext job) {
    Accelerator accelerator({.process = {.device = device.name(), .share_gpu = true},
                             .mixed_precision = precision,
                             .split_batches = true,
                             .grad_scaler = scaler},
                            std::move(job));
    return train(accelerator, weights);
  });
}

const Weights kWhole{1, 1};

}  // namespace

TEST_CASE("a training in float16 follows float32, and its replicas stay equal", "[accelerate][fp16][multirank][gpu]") {
  const int world_size = GENERATE(1, 2);
  const auto exact = train_on(world_size, MixedPrecision::kNo, kWhole);
  const auto rounded = train_on(world_size, MixedPrecision::kFp16, kWhole);
  CHECK_FALSE(exact[0].has_half_logits);
  CHECK(rounded[0].has_half_logits);
  CHECK(rounded[0].scales == std::vector<double>(kHalfUpdates, 65536));  // gradients below 1/6 of it do not overflow
  CHECK(rounded[0].last != exact[0].last);
  // Two layers, forward and back, round about ten numbers on the way to a gradient: 10 * 2^-11 of it. Adam divides a
  // gradient by its own running size, so an update of at most the learning rate (0.01) is off by as much of itself,
  // except if a gradient is so small that its sign is not known: then by a whole update. After 12 of them a
  // parameter is off by 12 * 0.01 at most, and a loss, whose slope in any parameter is below 1, by far less for the few
  // such ones.
  for (std::size_t i = 0; i < exact[0].losses.size(); ++i) {
    CHECK(std::abs(rounded[0].losses[i] - exact[0].losses[i]) <= 10 * 0x1p-11 * static_cast<double>(i + 1));
  }
  CHECK(largest_difference(rounded[0].last, exact[0].last) <= static_cast<double>(kHalfUpdates) * 0.01);
  for (const HalfCourse& course : rounded) CHECK(course.last == rounded[0].last);
}

TEST_CASE("gradients that underflow in float16 move nothing without the scaler, and train with it",
          "[accelerate][fp16][multirank][gpu]") {
  const int world_size = GENERATE(1, 2);
  // A gradient of a logit is below 1 / rows, and a rank has 6 or 3 rows. With 2^-24 of the loss it is below 2^-25, half
  // of the smallest float16.
  const Weights small{0x1p-24, 0x1p-24};
  const auto lost = train_on(world_size, MixedPrecision::kFp16, small, optim::GradScalerOptions{.enabled = false});
  CHECK(lost[0].has_half_logits);
  CHECK(lost[0].last == lost[0].first);
  CHECK(train_on(world_size, MixedPrecision::kBf16, small)[0].last != lost[0].first);  // a wider range needs no scaler

  const auto saved = train_on(world_size, MixedPrecision::kFp16, small);
  const auto exact = train_on(world_size, MixedPrecision::kNo, small);
  CHECK(saved[0].skipped == std::vector<bool>(kHalfUpdates, false));
  CHECK(saved[0].last != saved[0].first);
  // The scaled gradients begin at 2^-8 / rows. Those below 2^-14 are held to 2^-25, so a gradient is off by 2^-11 of
  // itself, or by 2^-25 of what is 2^-8 at most: 2^-17 of the largest. The losses follow as in the test above.
  for (std::size_t i = 0; i < exact[0].losses.size(); ++i) {
    CHECK(std::abs(saved[0].losses[i] - exact[0].losses[i]) <= 10 * 0x1p-11 * static_cast<double>(i + 1));
  }
}

TEST_CASE("an overflow in float16 makes all ranks skip the step, and halves the scale",
          "[accelerate][fp16][multirank][gpu]") {
  const int world_size = GENERATE(1, 2);
  // The first gradient of a logit of this model with three classes is about 2/3 of 1 / rows. At 2^22 it is above 65504
  // on the last rank alone; the other one multiplies by a small weight.
  Weights weights(static_cast<std::size_t>(world_size), 0x1p-10);
  weights.back() = 1;
  const auto courses =
      train_on(world_size, MixedPrecision::kFp16, weights, optim::GradScalerOptions{.init_scale = 0x1p22});
  CHECK(courses[0].skipped.front());
  CHECK_FALSE(courses[0].skipped.back());
  double scale = 0x1p22;
  for (std::size_t i = 0; i < courses[0].skipped.size(); ++i) {
    if (courses[0].skipped[i]) scale /= 2;
    CHECK(courses[0].scales[i] == scale);
  }
  for (const HalfCourse& course : courses) {
    CHECK(course.is_unchanged == course.skipped);
    CHECK(course.skipped == courses[0].skipped);
    CHECK(course.scales == courses[0].scales);
    CHECK(course.last == courses[0].last);
  }
}

TEST_CASE("float16 on the CPU is refused, and bf16 named instead", "[accelerate][fp16][fault]") {
  CHECK_THROWS_WITH(Accelerator({.process = {.device = "cpu"}, .mixed_precision = MixedPrecision::kFp16}),
                    ContainsSubstring("needs a device (cuda or emulated)") && ContainsSubstring("choose bf16"));
}
