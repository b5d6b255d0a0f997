// The accelerator on a model that is no GPT: one process without it is the oracle.
#include "08_accelerate/accelerator.hpp"

#include <stdlib.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "digits.hpp"
#include "optim/clip.hpp"
#include "support/accelerator.hpp"
#include "support/captured_stderr.hpp"
#include "support/event_file.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::test;
using accelerate::Accelerator;
using accelerate::AcceleratorOptions;

namespace {

constexpr double kClip = 0.5;

// The results of a loop without an accelerator.
std::vector<float> trained_by_hand(std::int64_t samples, std::int64_t batch_size, std::int64_t epochs,
                                   bool drop_last = true, Device device = {}) {
  Training training(samples, {.batch_size = batch_size, .drop_last = drop_last}, device);
  std::int64_t updates = 0;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    training.sampler.set_epoch(epoch);
    for (const data::Batch& batch : training.loader) {
      training.optimizer.zero_grad();
      training.loss_of(batch).backward();
      optim::clip_grad_norm(training.model.parameters(), kClip);
      training.optimizer.step(training.schedule.at(updates++));
    }
  }
  return values_of(training.model);
}

// Where a loop's body calls zero_grad().
enum class ZeroGrad { kFirst, kLast };

// The same loop with an accelerator, in Accelerate's form.
std::vector<float> trained(Accelerator& accelerator, Training& training, std::int64_t epochs,
                           ZeroGrad place = ZeroGrad::kFirst) {
  auto [net, adam, batches, rate] =
      accelerator.prepare(training.model, training.optimizer, training.loader, training.schedule);
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    training.sampler.set_epoch(epoch);
    for (const data::Batch& batch : batches) {
      const auto scope = accelerator.accumulate(net);
      if (place == ZeroGrad::kFirst) adam.zero_grad();
      accelerator.backward(training.loss_of(batch));
      if (accelerator.sync_gradients()) accelerator.clip_grad_norm(net->parameters(), kClip);
      adam.step(rate.get_last_lr());
      rate.step();
      if (place == ZeroGrad::kLast) adam.zero_grad();
    }
  }
  return values_of(training.model);
}

std::vector<std::vector<float>> trained_on(int world_size, const AcceleratorOptions& options, std::int64_t samples,
                                           const data::DataLoaderOptions& loader, std::int64_t epochs,
                                           ZeroGrad place = ZeroGrad::kFirst) {
  return run_ranks_for<std::vector<float>>(world_size, [&](comm::JobContext job) {
    Accelerator accelerator(options, std::move(job));
    Training training(samples, loader, accelerator.device());
    return trained(accelerator, training, epochs, place);
  });
}

// Gradients are sums of the same 12 float32 terms in another order: off by 12 * 2^-24 of the largest, or 1e-6. A step
// of Adam is at most its learning rate, 1e-2, and turns such a relative error into a hundredth of 1e-6; if a
// gradient all but vanishes, the error can be as large as the gradient, and the step is off by up to the rate times the
// share of the error: bounded here by a hundredth of a step. A wrong gradient is off by whole steps.
constexpr double kTolerance = 1e-4;

}  // namespace

TEST_CASE("in one process without rendezvous variables, the accelerator changes no bit", "[accelerate]") {
  Accelerator accelerator;
  Training training(30, {.batch_size = 12});
  CHECK(trained(accelerator, training, 2) == trained_by_hand(30, 12, 2));
}

TEST_CASE("on a device, the accelerator changes no bit either", "[accelerate][gpu]") {
  const Device device = test::accelerator();
  Accelerator accelerator({.process = {.device = device.name()}});
  CHECK(accelerator.device() == device);
  Training training(30, {.batch_size = 12}, device);
  CHECK(trained(accelerator, training, 1) == trained_by_hand(30, 12, 1, true, device));
  const std::vector<float> values{1, 2};
  const Tensor here = Tensor::from(std::span<const float>(values), {2}, device);
  CHECK(accelerator.gather(here).device() == device);
  CHECK(accelerator.reduce(here).to(Device{}).span<float>()[1] == 2);
}

TEST_CASE("several ranks take the steps of one process with the whole batch", "[accelerate][multirank]") {
  const int world_size = GENERATE(2, 3, 4);
  const bool is_split = GENERATE(true, false);
  const std::int64_t batch_size = is_split ? 12 : 12 / world_size;
  const auto of_ranks = trained_on(world_size, {.split_batches = is_split}, 30, {.batch_size = batch_size}, 2);
  for (const auto& values : of_ranks) CHECK(values == of_ranks[0]);
  const auto expected = trained_by_hand(30, 12, 2);
  CHECK(largest_difference(of_ranks[0], expected) < kTolerance);
  CHECK(largest_difference(of_ranks[0], trained_by_hand(30, 12, 1)) > 10 * kTolerance);  // the tolerance is no blanket
}

TEST_CASE("micro-batches of a scope add up to the step of the whole batch, wherever zero_grad stands",
          "[accelerate][multirank]") {
  const int world_size = GENERATE(1, 2, 3);
  const ZeroGrad place = GENERATE(ZeroGrad::kFirst, ZeroGrad::kLast);
  const AcceleratorOptions halves{.gradient_accumulation_steps = 2, .split_batches = true};
  const auto of_ranks = trained_on(world_size, halves, 36, {.batch_size = 6}, 2, place);
  CHECK(largest_difference(of_ranks[0], trained_by_hand(36, 12, 2)) < kTolerance);
}

TEST_CASE("the last batch of an epoch ends a step, even in the middle of one", "[accelerate]") {
  Accelerator accelerator({.gradient_accumulation_steps = 2});
  Training training(15, {.batch_size = 5});  // three micro-batches an epoch
  auto [net, adam, batches] = accelerator.prepare(training.model, training.optimizer, training.loader);
  std::vector<bool> synced;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    for (const data::Batch& batch : batches) {
      const auto scope = accelerator.accumulate(net);
      accelerator.backward(training.loss_of(batch));
      synced.push_back(accelerator.sync_gradients());
      if (!accelerator.sync_gradients())
        CHECK_THROWS_AS(accelerator.clip_grad_norm(net->parameters(), 1), ContractError);
      adam.step(1e-3);
      adam.zero_grad();
    }
  }
  CHECK(synced == std::vector<bool>{false, true, true, false, true, true});
  CHECK(training.optimizer.step_counts().steps == 4);
}

TEST_CASE("nothing is sent for micro-batches that are not the last of a step", "[accelerate][multirank]") {
  std::vector<std::vector<std::uint64_t>> sent(2);
  run_all(2, [&](comm::JobContext job) {
    const auto rank = static_cast<std::size_t>(job.rank);
    Accelerator accelerator({.process = {.backend = "star"}, .gradient_accumulation_steps = 2}, std::move(job));
    Training training(24, {.batch_size = 2});
    auto [net, batches] = accelerator.prepare(training.model, training.loader);
    for (const data::Batch& batch : batches) {
      const auto scope = accelerator.accumulate(net);
      const auto before = accelerator.process_group().traffic_sent().payload_bytes;
      accelerator.backward(training.loss_of(batch));
      sent[rank].push_back(accelerator.process_group().traffic_sent().payload_bytes - before);
      training.model.zero_grad();
    }
  });
  for (const auto& of_rank : sent) {
    REQUIRE(of_rank.size() == 6);
    for (std::size_t i = 0; i < of_rank.size(); ++i) CHECK((of_rank[i] > 0) == (i % 2 == 1));
  }
}

TEST_CASE("micro-batches at hand are a range, with weights of their own", "[accelerate][multirank]") {
  struct Part {
    data::Batch batch;
    double weight;
  };
  std::vector<std::vector<float>> found(2);
  run_all(2, [&](comm::JobContext job) {
    const auto rank = static_cast<std::size_t>(job.rank);
    Accelerator accelerator({.split_batches = true}, std::move(job));
    Training training(36, {.batch_size = 12});
    auto [net, adam, batches] = accelerator.prepare(training.model, training.optimizer, training.loader);
    std::int64_t updates = 0;
    for (const data::Batch& batch : batches) {
      std::vector<Part> parts;  // one sample, then five
      for (const auto& [begin, end] : {std::pair(0, 1), std::pair(1, 6)}) {
        parts.push_back(
            {{batch.inputs.rows(begin, end), batch.targets.rows(begin, end), batch.sample_ids.rows(begin, end)},
             (end - begin) / 6.0});
      }
      adam.zero_grad();
      for (const Part& part : accelerator.accumulate(net, parts))
        accelerator.backward(training.loss_of(part.batch), part.weight);
      accelerator.clip_grad_norm(net->parameters(), kClip);
      adam.step(training.schedule.at(updates++));
    }
    found[rank] = values_of(training.model);
  });
  CHECK(found[0] == found[1]);
  CHECK(largest_difference(found[0], trained_by_hand(36, 12, 1)) < kTolerance);
}

namespace {

// The results of an evaluation, sample by sample.
struct Evaluation {
  std::vector<std::int64_t> ids;
  std::vector<float> features;
  std::vector<std::int32_t> targets;
  std::vector<float> logits;

  void add(const Tensor& sample_ids, const Tensor& inputs, const Tensor& labels, const Tensor& outputs) {
    const auto append = []<typename T>(std::vector<T>& all, const Tensor& tensor) {
      const std::span<T> values = tensor.span<T>();
      all.insert(all.end(), values.begin(), values.end());
    };
    append(ids, sample_ids);
    append(features, inputs);
    append(targets, labels);
    append(logits, outputs);
  }
};

}  // namespace

TEST_CASE("gather_for_metrics equals one process's evaluation for sizes that do not divide",
          "[accelerate][multirank]") {
  const int world_size = GENERATE(1, 2, 3, 4);
  const std::int64_t samples = GENERATE(1, 3, 4, 11, 13, 24);
  const auto logits_of = [](const Training& training, const data::Batch& batch) {
    return training.model.forward(autograd::Variable(batch.inputs)).value();
  };
  Training alone(samples, {.batch_size = 4, .drop_last = false});
  Evaluation expected;
  for (const data::Batch& batch : alone.loader)
    expected.add(batch.sample_ids, batch.inputs, batch.targets, logits_of(alone, batch));
  std::vector<Evaluation> found(static_cast<std::size_t>(world_size));
  run_all(world_size, [&](comm::JobContext job) {
    Evaluation& own = found[static_cast<std::size_t>(job.rank)];
    Accelerator accelerator({}, std::move(job));
    Training training(samples, {.batch_size = 2, .drop_last = false});
    auto [net, batches] = accelerator.prepare(training.model, training.loader);
    for (const data::Batch& batch : batches) {
      const auto gather = [&accelerator](const Tensor& tensor) { return accelerator.gather_for_metrics(tensor); };
      own.add(gather(batch.sample_ids), gather(batch.inputs), gather(batch.targets),
              gather(logits_of(training, batch)));
    }
  });
  for (const Evaluation& of_rank : found) {
    CHECK(of_rank.ids == expected.ids);
    CHECK(of_rank.features == expected.features);
    CHECK(of_rank.targets == expected.targets);
    // Products of other numbers of rows may add their 6 and 8 terms, of which none is above 1, in another order.
    CHECK(largest_difference(of_rank.logits, expected.logits) < 8 * 0x1p-23);
  }
}

TEST_CASE("gather_for_metrics takes ranks with unequal shares of a batch", "[accelerate][multirank]") {
  std::vector<std::vector<std::int64_t>> found(3);
  run_all(3, [&](comm::JobContext job) {
    const auto rank = static_cast<std::size_t>(job.rank);
    Accelerator accelerator({.even_batches = false}, std::move(job));
    Training training(8, {.batch_size = 4, .drop_last = false});  // shares of 3, 3 and 2: one batch each
    auto batches = accelerator.prepare(training.loader);
    for (const data::Batch& batch : batches) {
      const Tensor ids = accelerator.gather_for_metrics(batch.sample_ids);
      found[rank].assign(ids.span<std::int64_t>().begin(), ids.span<std::int64_t>().end());
    }
  });
  const auto expected = data::epoch_permutation(3, 0, 8);
  for (const auto& of_rank : found) CHECK(of_rank == expected);
}

TEST_CASE("gather_for_metrics says what it needs", "[accelerate][fault]") {
  Accelerator accelerator;
  CHECK_THROWS_AS(accelerator.gather_for_metrics(Tensor::zeros({2})), ContractError);
  Training training(8, {.batch_size = 4});
  auto batches = accelerator.prepare(training.loader);
  for ([[maybe_unused]] const data::Batch& batch : batches) {
    CHECK_THROWS_AS(accelerator.gather_for_metrics(Tensor::zeros({3})), ContractError);
    CHECK_THROWS_AS(accelerator.gather_for_metrics(Tensor()), ContractError);
  }
}

TEST_CASE("ranks with unequal numbers of batches take the steps of one process", "[accelerate][multirank]") {
  const int world_size = GENERATE(2, 4);
  std::vector<std::vector<float>> found(static_cast<std::size_t>(world_size));
  run_all(world_size, [&](comm::JobContext job) {
    const auto rank = static_cast<std::size_t>(job.rank);
    Accelerator accelerator({.split_batches = true, .even_batches = false}, std::move(job));
    Training training(25, {.batch_size = 8, .drop_last = false});  // the last batch has one sample
    auto [net, adam, batches] = accelerator.prepare(training.model, training.optimizer, training.loader);
    std::int64_t updates = 0;
    for (const data::Batch& batch : accelerator.join_uneven_inputs(net, batches)) {
      adam.zero_grad();
      const std::vector<data::Batch> parts(batch.size() > 0 ? 1 : 0, batch);
      for (const data::Batch& part : accelerator.accumulate(net, parts)) accelerator.backward(training.loss_of(part));
      accelerator.clip_grad_norm(net->parameters(), kClip);
      adam.step(training.schedule.at(updates++));
    }
    found[rank] = values_of(training.model);
  });
  for (const auto& values : found) CHECK(values == found[0]);
  CHECK(largest_difference(found[0], trained_by_hand(25, 8, 1, false)) < kTolerance);
}

TEST_CASE("within join_uneven_inputs a scope cannot count micro-batches", "[accelerate][fault]") {
  Accelerator accelerator({.gradient_accumulation_steps = 2});
  Training training(8, {.batch_size = 4});
  auto [net, batches] = accelerator.prepare(training.model, training.loader);
  for ([[maybe_unused]] const data::Batch& batch : accelerator.join_uneven_inputs(net, batches))
    CHECK_THROWS_AS(accelerator.accumulate(net), ContractError);
  for ([[maybe_unused]] const data::Batch& batch : batches) CHECK_NOTHROW(accelerator.accumulate(net));
}

TEST_CASE("skip_first_batches begins an epoch later, once", "[accelerate][multirank]") {
  std::vector<std::vector<std::int64_t>> ids(2);
  run_all(2, [&](comm::JobContext job) {
    const auto rank = static_cast<std::size_t>(job.rank);
    Accelerator accelerator({}, std::move(job));
    Training training(12, {.batch_size = 2});
    auto batches = accelerator.prepare(training.loader);
    for (const data::Batch& batch : accelerator.skip_first_batches(batches, 2)) {
      for (const std::int64_t id : batch.sample_ids.span<std::int64_t>()) ids[rank].push_back(id);
    }
    for (const data::Batch& batch : batches) ids[rank].push_back(batch.sample_ids.span<std::int64_t>()[0]);
  });
  const auto order = data::epoch_permutation(3, 0, 12);
  CHECK(ids[0] == std::vector<std::int64_t>{order[8], order[10], order[0], order[4], order[8]});
  CHECK(ids[1] == std::vector<std::int64_t>{order[9], order[11], order[1], order[5], order[9]});
  Accelerator accelerator;
  Training training(12, {.batch_size = 2});
  auto batches = accelerator.prepare(training.loader);
  CHECK_THROWS_AS(accelerator.skip_first_batches(batches, 6), ContractError);
}

TEST_CASE("a prepared model is the module itself, and can be prepared once", "[accelerate]") {
  Accelerator accelerator;
  Training training(8, {.batch_size = 4});
  auto net = accelerator.prepare(training.model);
  CHECK(&accelerator.unwrap_model(net) == &training.model);
  CHECK_THROWS_AS(accelerator.prepare(training.model), ContractError);
}

TEST_CASE("autocast computes in the options' precision while its object lives", "[accelerate]") {
  Accelerator half({.mixed_precision = MixedPrecision::kBf16}), full;
  {
    const auto scope = half.autocast();
    CHECK(autograd::is_autocast_enabled());
    const auto inner = full.autocast();
    CHECK_FALSE(autograd::is_autocast_enabled());
  }
  CHECK_FALSE(autograd::is_autocast_enabled());
}

TEST_CASE("mixed precision without autocast() is warned of once", "[accelerate]") {
  const auto warnings_of = [](MixedPrecision precision, bool is_autocast_used) {
    Accelerator accelerator({.mixed_precision = precision});
    Training training(4, {.batch_size = 2});
    auto net = accelerator.prepare(training.model);
    const test::CapturedStderr captured;
    for (const data::Batch& batch : training.loader) {
      if (is_autocast_used) (void)accelerator.autocast();
      accelerator.backward(training.loss_of(batch));
    }
    const std::string text = captured.text(), warning = "autocast() has not been called before backward()";
    const std::size_t first = text.find(warning);
    return first == std::string::npos ? 0 : text.find(warning, first + 1) == std::string::npos ? 1 : 2;
  };
  CHECK(warnings_of(MixedPrecision::kBf16, false) == 1);
  CHECK(warnings_of(MixedPrecision::kBf16, true) == 0);
  CHECK(warnings_of(MixedPrecision::kNo, false) == 0);
}

TEST_CASE("the launcher chooses the precision and the device that options leave open", "[accelerate]") {
  const auto is_half = [](accelerate::AcceleratorOptions options) {
    const Accelerator accelerator(std::move(options));
    const auto scope = accelerator.autocast();
    return autograd::is_autocast_enabled();
  };
  CHECK_FALSE(is_half({}));
  ::setenv("LOCKSTEP_MIXED_PRECISION", "bf16", 1);
  CHECK(is_half({}));
  CHECK_FALSE(is_half({.mixed_precision = MixedPrecision::kNo}));  // what the program says goes first
  ::setenv("LOCKSTEP_MIXED_PRECISION", "fp8", 1);
  CHECK_THROWS_WITH(Accelerator(), ContainsSubstring("LOCKSTEP_MIXED_PRECISION: there is no 'fp8'"));
  ::unsetenv("LOCKSTEP_MIXED_PRECISION");
  ::setenv("LOCKSTEP_DEVICE", "abacus", 1);
  CHECK_THROWS_WITH(Accelerator(), ContainsSubstring("abacus"));
  CHECK(Accelerator({.process = {.device = "cpu"}}).device().is_cpu());
  ::unsetenv("LOCKSTEP_DEVICE");
}

TEST_CASE("options that have no meaning are refused, and say what to do", "[accelerate][multirank][fault]") {
  CHECK_THROWS_AS(Accelerator({.gradient_accumulation_steps = 0}), ContractError);
  CHECK_THROWS_AS(Accelerator({.total_limit = -1}), ContractError);
  const auto outcomes = run_ranks(2, [](comm::JobContext job) {
    Accelerator accelerator({.split_batches = true}, std::move(job));
    Training training(9, {.batch_size = 3});
    (void)accelerator.prepare(training.loader);
  });
  for (const auto& outcome : outcomes) CHECK_THAT(outcome.message(), ContainsSubstring("batch of 3 samples"));
}

TEST_CASE("prepared loaders place batches on the accelerator's device, unless that is switched off",
          "[accelerate][gpu]") {
  const Device device = test::accelerator();
  const bool is_placing = GENERATE(true, false);
  Accelerator accelerator({.process = {.device = device.name()}, .device_placement = is_placing});
  Training training(9, {.batch_size = 4, .drop_last = false});
  auto batches = accelerator.prepare(training.loader);
  std::int64_t samples = 0;
  for (const data::Batch& batch : batches) {
    CHECK(batch.inputs.device() == (is_placing ? device : Device{}));
    CHECK(batch.targets.device() == batch.inputs.device());
    CHECK(batch.sample_ids.device().is_cpu());
    const std::int64_t first = batch.sample_ids.span<std::int64_t>()[0];
    const data::Batch expected = training.samples.batch(std::span(&first, 1));
    const Tensor arrived = batch.inputs.to(Device{});
    for (std::size_t i = 0; i < kInputs; ++i) CHECK(arrived.span<float>()[i] == expected.inputs.span<float>()[i]);
    samples += batch.size();
  }
  CHECK(samples == 9);
}

TEST_CASE("the accelerator's trackers write on the main process only, until end_training", "[accelerate][multirank]") {
  const test::TemporaryFolder folder;
  const auto outcomes = run_ranks(2, [&](comm::JobContext job) {
    Accelerator accelerator({.project_dir = folder.path(), .log_with = {"jsonl", "tensorboard"}}, std::move(job));
    accelerator.init_trackers("first try", {{"learning_rate", 0.5}, {"note", "Gr\xFF"}});  // in whatever encoding
    accelerator.log({{"rank", static_cast<double>(accelerator.process_index())}}, 1);
    accelerator.end_training();
    accelerator.log({{"late", 1}}, 2);
  });
  for (const auto& outcome : outcomes) CHECK(outcome.message() == "");
  const std::filesystem::path logs = folder / "logs" / "first try";
  CHECK(read_file(logs / "metrics.jsonl") == "{\"step\":1,\"rank\":0.0}\n");
  CHECK(parse_json(read_file(logs / "config.json")).at("learning_rate") == 0.5);
  CHECK(test::read_event_files(logs) == test::EventScalars{{1, {{"rank", 0.0F}}}});
}
