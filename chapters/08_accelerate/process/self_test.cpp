#include "08_accelerate/process/self_test.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "06_gpt_ddp/replica_check.hpp"
#include "08_accelerate/accelerator.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "base/timing.hpp"
#include "comm/joining/versions.hpp"
#include "comm/objects.hpp"
#include "nn/gpt.hpp"
#include "optim/sgd.hpp"

namespace lockstep::accelerate {
namespace {

constexpr int kSteps = 10;
constexpr double kLearningRate = 0.1;
constexpr std::int64_t kLeastBatch = 16;  // samples of all ranks together

nn::GptConfig tiny_model() {
  return {.name = "self-test",
          .vocabulary_size = 64,
          .channels = 64,
          .head_count = 4,
          .layer_count = 2,
          .context_length = 32};
}

struct Samples {
  Tensor inputs, targets;  // [B, T] int32
};

// Random tokens, each followed by one that depends on it, so that there is something to learn.
Samples make_samples(std::int64_t count) {
  const nn::GptConfig config = tiny_model();
  const Shape shape{count, config.context_length};
  Samples samples{Tensor::zeros(shape, DType::kInt32), Tensor::zeros(shape, DType::kInt32)};
  PhiloxSequence random(8);
  for (std::int64_t i = 0; i < samples.inputs.count(); ++i) {
    const auto token = static_cast<std::int64_t>(random.next_below(static_cast<std::uint32_t>(config.vocabulary_size)));
    samples.inputs.span<std::int32_t>()[i] = static_cast<std::int32_t>(token);
    samples.targets.span<std::int32_t>()[i] = static_cast<std::int32_t>((3 * token + 1) % config.vocabulary_size);
  }
  return samples;
}

struct Course {
  std::vector<double> losses;  // before each step, mean over all samples
  double step_ms = 0;
};

// All ranks of `accelerator` share the samples.
Course train(Accelerator& accelerator, const Samples& all) {
  const std::int64_t each = all.inputs.shape()[0] / accelerator.num_processes();
  const std::int64_t begin = accelerator.process_index() * each;
  const Tensor inputs = all.inputs.rows(begin, begin + each).to(accelerator.device());
  const Tensor targets = all.targets.rows(begin, begin + each).to(accelerator.device());
  nn::Gpt model(tiny_model(), {1, accelerator.device()});
  optim::Sgd optimizer(model);
  auto [net, sgd] = accelerator.prepare(model, optimizer);
  Course course;
  std::vector<double> seconds;
  for (int step = 0; step < kSteps; ++step) {
    const Stopwatch stopwatch;
    sgd.zero_grad();
    const autograd::Variable loss = net->loss(inputs, targets);
    accelerator.backward(loss);
    sgd.step(kLearningRate);
    course.losses.push_back(accelerator.reduce(loss.value().item(), comm::ReduceOp::kMean));
    seconds.push_back(stopwatch.seconds());
  }
  ddp::require_equal_parameters(model, accelerator.process_group(), "after the self-test");
  course.step_ms = median(seconds) * 1e3;
  return course;
}

// Rank r contributes 8^r: in base 8, a wrong sum says which rank is missing or counted twice.
void check_sum(const Accelerator& accelerator) {
  constexpr int kPlaces = 19;  // then places repeat, so that 64 bits hold the sum of 2000 ranks
  constexpr std::int64_t kCount = 1000;
  const auto share = [](int rank) { return std::int64_t{1} << (3 * (rank % kPlaces)); };
  std::vector<std::int64_t> values(kCount, share(accelerator.process_index()));
  accelerator.reduce_in_place(std::span(values));
  std::int64_t expected = 0;
  for (int rank = 0; rank < accelerator.num_processes(); ++rank) expected += share(rank);
  for (std::int64_t i = 0; i < kCount; ++i) {
    if (values[static_cast<std::size_t>(i)] == expected) continue;
    throw Error(concat("self-test: all_reduce gives ", values[static_cast<std::size_t>(i)], " at element ", i,
                       " where the sum over all ranks is ", expected));
  }
}

// Median seconds of an all-reduce, after one as a warm-up.
double all_reduce_seconds(const Accelerator& accelerator, std::int64_t bytes, int repetitions) {
  const Tensor values = Tensor::zeros({bytes / 4}, DType::kFloat32, accelerator.device());
  std::vector<double> seconds;
  for (int i = 0; i <= repetitions; ++i) {
    accelerator.wait_for_everyone();
    const Stopwatch stopwatch;
    accelerator.process_group().all_reduce(comm::buffer_of(values), comm::ReduceOp::kSum).synchronize();
    if (i > 0) seconds.push_back(stopwatch.seconds());
  }
  return median(seconds);
}

std::vector<std::string> hosts_of(const Accelerator& accelerator) {
  std::vector<std::string> hosts;
  for (const nlohmann::json& host : comm::all_gather_object(accelerator.process_group(), comm::own_versions().host)) {
    const auto name = host.get<std::string>();
    if (std::ranges::find(hosts, name) == hosts.end()) hosts.push_back(name);
  }
  return hosts;
}

double largest_difference(const std::vector<double>& losses, const std::vector<double>& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < losses.size(); ++i)
    largest = std::max(largest, std::abs(losses[i] - expected[i]) / std::abs(expected[i]));
  return largest;
}

}  // namespace

SelfTestResult run_self_test(const ProcessOptions& options, const comm::JobContext& job, const ddp::DdpOptions& ddp) {
  const AcceleratorOptions settings{.process = options, .mixed_precision = MixedPrecision::kNo, .ddp = ddp};
  Accelerator accelerator(settings, job);
  SelfTestResult result;
  result.world_size = accelerator.num_processes();
  check_sum(accelerator);
  result.hosts = hosts_of(accelerator);
  result.small_us = all_reduce_seconds(accelerator, 1024, 50) * 1e6;
  constexpr std::int64_t kLargeBytes = 16 << 20;
  result.bandwidth_gb_s = static_cast<double>(kLargeBytes) / all_reduce_seconds(accelerator, kLargeBytes, 5) * 1e-9;

  const std::int64_t ranks = accelerator.num_processes();
  const Samples samples = make_samples((kLeastBatch + ranks - 1) / ranks * ranks);
  const Course together = train(accelerator, samples);
  AcceleratorOptions alone_settings = settings;
  alone_settings.process = {.device = accelerator.device().name()};
  Accelerator one(alone_settings, comm::JobContext());
  const Course alone = train(one, samples);
  result.step_ms = together.step_ms;
  result.alone_ms = alone.step_ms;
  result.first_loss = together.losses.front();
  result.last_loss = together.losses.back();
  result.difference = largest_difference(together.losses, alone.losses);
  if (!(result.difference <= kSelfTestTolerance)) {  // also fails on NaN
    throw Error(concat("self-test: the losses of ", ranks, " ranks differ from those of one by ", result.difference,
                       " of their value; ", kSelfTestTolerance, " is allowed"));
  }
  if (!(result.last_loss < result.first_loss))
    throw Error(concat("self-test: the loss does not fall: ", result.first_loss, ", then ", result.last_loss));
  return result;
}

}  // namespace lockstep::accelerate
