// The accelerator with a gradient scaler: on one rank and on two, with overflows planted.
#include <cmath>
#include <limits>
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

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kUpdates = 6;  // 36 samples in global batches of 6

// Where an overflow is planted.
struct Overflow {
  enum class Place { kNowhere, kInBackward, kBehindTheAverage };
  Place place = Place::kNowhere;
  int rank = 0;
  std::int64_t update = 2;
};

// The results of a training run.
struct Course {
  std::vector<float> values;
  std::vector<double> scales;        // after each update
  std::vector<bool> skipped;         // by update
  std::vector<double> rates;         // after each update
  std::vector<bool> is_unchanged{};  // by update
};

Course train(Accelerator& accelerator, Training& training, const Overflow& overflow) {
  auto [net, adam, batches, rate] =
      accelerator.prepare(training.model, training.optimizer, training.loader, training.schedule);
  Course course;
  for (const data::Batch& batch : batches) {
    const auto scope = accelerator.accumulate(net);
    adam.zero_grad();
    const bool is_planted =
        accelerator.process_index() == overflow.rank && std::ssize(course.scales) == overflow.update;
    const bool is_in_backward = is_planted && overflow.place == Overflow::Place::kInBackward;
    accelerator.backward(training.loss_of(batch), is_in_backward ? kInfinity : 1.0);
    if (!accelerator.sync_gradients()) continue;
    if (is_planted && overflow.place == Overflow::Place::kBehindTheAverage)
      training.model.parameters().back().gradient().span<float>()[0] = std::nanf("");
    const std::vector<float> before = values_of(training.model);
    accelerator.clip_grad_norm(net->parameters(), 0.5);
    adam.step(rate.get_last_lr());
    rate.step();
    course.is_unchanged.push_back(values_of(training.model) == before);
    course.skipped.push_back(accelerator.optimizer_step_was_skipped());
    if (adam.step_was_skipped() != course.skipped.back()) throw Error("one optimizer, two answers");
    course.rates.push_back(rate.get_last_lr());
    course.scales.push_back(accelerator.scaler() == nullptr ? 1 : accelerator.scaler()->get_scale());
  }
  course.values = values_of(training.model);
  return course;
}

std::vector<Course> train_on(int world_size, const AcceleratorOptions& options, const Overflow& overflow) {
  return run_ranks_for<Course>(world_size, [&](comm::JobContext job) {
    Accelerator accelerator(options, std::move(job));
    Training training(36, {.batch_size = 6});
    return train(accelerator, training, overflow);
  });
}

AcceleratorOptions scaling(std::int64_t growth_interval = 2000) {
  return {.split_batches = true, .grad_scaler = optim::GradScalerOptions{.growth_interval = growth_interval}};
}

}  // namespace

TEST_CASE("with a scale that is a power of 2, float32 training is the same bit for bit",
          "[accelerate][scaler][multirank]") {
  const int world_size = GENERATE(1, 2);
  const auto plain = train_on(world_size, {.split_batches = true}, {});
  const auto scaled = train_on(world_size, scaling(), {});
  for (std::size_t rank = 0; rank < plain.size(); ++rank) CHECK(scaled[rank].values == plain[rank].values);
  CHECK(scaled[0].scales == std::vector<double>(kUpdates, 65536));
  CHECK(scaled[0].skipped == std::vector<bool>(kUpdates, false));
}

TEST_CASE("an overflow on one rank makes all ranks skip the step, and replicas stay equal",
          "[accelerate][scaler][multirank]") {
  const int world_size = GENERATE(1, 2);
  const auto place = GENERATE(Overflow::Place::kInBackward, Overflow::Place::kBehindTheAverage);
  const auto courses = train_on(world_size, scaling(3), {.place = place, .rank = world_size - 1});
  for (const Course& course : courses) {
    CHECK(course.values == courses[0].values);
    CHECK(course.skipped == std::vector<bool>{false, false, true, false, false, false});
    CHECK(course.is_unchanged == course.skipped);
    CHECK(course.scales == std::vector<double>{65536, 65536, 32768, 32768, 32768, 65536});  // grows after 3 good steps
    CHECK(course.rates[2] == course.rates[1]);  // the schedule counts updates that were made
    CHECK(course.rates[3] < course.rates[2]);
  }
}

TEST_CASE("on a device an overflow on one rank makes all ranks skip the step, too",
          "[accelerate][scaler][multirank][gpu]") {
  const Device device = test::accelerator();
  const auto courses = run_ranks_for<Course>(2, [&](comm::JobContext job) {
    AcceleratorOptions options = scaling();
    options.process = {.device = device.name(), .share_gpu = true};
    Accelerator accelerator(options, std::move(job));
    Training training(36, {.batch_size = 6}, accelerator.device());
    return train(accelerator, training, {.place = Overflow::Place::kInBackward, .rank = 1});
  });
  for (const Course& course : courses) {
    CHECK(course.values == courses[0].values);
    CHECK(course.skipped == std::vector<bool>{false, false, true, false, false, false});
    CHECK(course.is_unchanged == course.skipped);
  }
}

TEST_CASE("without a scaler an overflow is an error on all ranks", "[accelerate][scaler][multirank][fault]") {
  const auto outcomes = run_ranks(2, [](comm::JobContext job) {
    Accelerator accelerator({.split_batches = true}, std::move(job));
    Training training(36, {.batch_size = 6});
    (void)train(accelerator, training, {.place = Overflow::Place::kInBackward, .rank = 1});
  });
  for (const auto& outcome : outcomes) CHECK_THAT(outcome.message(), ContainsSubstring("finite"));
}

TEST_CASE("micro-batches are added up with one scale and unscaled once", "[accelerate][scaler]") {
  const auto course = [](AcceleratorOptions options) {
    options.gradient_accumulation_steps = 3;
    Accelerator accelerator(options);
    Training training(36, {.batch_size = 2});
    return train(accelerator, training, {});
  };
  CHECK(course(scaling()).values == course({}).values);
}

TEST_CASE("a checkpoint keeps the scale and the steps since it has changed", "[accelerate][scaler]") {
  const TemporaryFolder folder;
  AcceleratorOptions options = scaling(8);
  options.project_dir = folder.path();
  {
    Accelerator accelerator(options);
    Training training(36, {.batch_size = 6});
    (void)train(accelerator, training, {.place = Overflow::Place::kInBackward, .update = 0});
    accelerator.save_state();
  }
  Accelerator accelerator(options);
  Training training(36, {.batch_size = 6});
  auto prepared = accelerator.prepare(training.model, training.optimizer, training.loader, training.schedule);
  accelerator.load_state();
  const nlohmann::json state = accelerator.scaler()->state_dict();
  CHECK(state.at("scale") == 32768);
  CHECK(state.at("_growth_tracker") == 5);
}

TEST_CASE("a run::Run can keep the scale with its own checkpoints", "[accelerate][scaler]") {
  CHECK_FALSE(Accelerator(AcceleratorOptions{}).scaler_state().has_value());
  Accelerator first(scaling(8)), second(scaling(8));
  Training training(36, {.batch_size = 6});
  (void)train(first, training, {.place = Overflow::Place::kInBackward, .update = 0});
  const nlohmann::json state = first.scaler_state()->save();
  second.scaler_state()->load(state);
  CHECK(second.scaler()->get_scale() == 32768);
  CHECK(second.scaler()->state_dict() == state);
}
