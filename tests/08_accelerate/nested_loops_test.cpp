// Loops within loops: an evaluation in the middle of a training changes nothing of it, however its loop ends.
// @source  huggingface/accelerate #960, #1050, #1483, #4248: the same went wrong there.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "08_accelerate/accelerator.hpp"
#include "base/error.hpp"
#include "digits.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::test;
using accelerate::AcceleratedLoader;
using accelerate::Accelerator;

namespace {

constexpr std::int64_t kMicroBatches = 4;  // micro-batches of a step

// How a loop over the validation loader ends. Each one comes to its last batch, which would end a step of the training.
using InnerLoop = std::function<void(AcceleratedLoader&)>;
struct Ending {
  std::string name;
  InnerLoop run;
};

const std::vector<Ending>& endings() {
  static const std::vector<Ending> all{
      {"at its end",
       [](AcceleratedLoader& validation) {
         for ([[maybe_unused]] const data::Batch& batch : validation) {
         }
       }},
      {"by break at its last batch",
       [](AcceleratedLoader& validation) {
         std::int64_t seen = 0;
         for ([[maybe_unused]] const data::Batch& batch : validation) {
           if (++seen == validation.batches_per_epoch()) break;
         }
       }},
      {"by an exception at its last batch",
       [](AcceleratedLoader& validation) {
         std::int64_t seen = 0;
         try {
           for ([[maybe_unused]] const data::Batch& batch : validation) {
             if (++seen == validation.batches_per_epoch()) throw Error("a sample is wrong");
           }
         } catch (const Error&) {
         }
       }},
      {"with two loops over one loader, the first of them left",
       [](AcceleratedLoader& validation) {
         const auto left = validation.begin();  // lives on
         for ([[maybe_unused]] const data::Batch& batch : validation) {
         }
       }},
      {"with an iterator whose copy goes before it", [](AcceleratedLoader& validation) {
         auto iterator = validation.begin();
         { const auto copy = iterator; }
         while (iterator != validation.end()) ++iterator;
       }}};
  return all;
}

// Trains with micro-batches from a loader of its own or a prepared one; `evaluate` runs before micro-batch `at`.
struct Steps {
  std::vector<bool> synced;  // by micro-batch
  std::vector<float> values;
  bool operator==(const Steps&) const = default;
};

Steps train_around(bool is_prepared, std::int64_t at, const InnerLoop& evaluate) {
  Accelerator accelerator({.gradient_accumulation_steps = kMicroBatches});
  Training training(24, {.batch_size = 2});  // 12 micro-batches: 3 steps
  const data::TensorDataset samples = make_samples(6);
  data::SequentialSampler sampler(6);
  data::DataLoader loader(samples, sampler, {.batch_size = 2});
  auto [net, adam, validation] = accelerator.prepare(training.model, training.optimizer, loader);
  Steps steps;
  const auto body = [&, &net = net, &adam = adam, &validation = validation](const data::Batch& batch) {
    if (static_cast<std::int64_t>(steps.synced.size()) == at) evaluate(validation);
    const auto scope = accelerator.accumulate(net);
    adam.zero_grad();
    accelerator.backward(training.loss_of(batch));
    adam.step(1e-2);
    steps.synced.push_back(accelerator.sync_gradients());
  };
  if (is_prepared) {
    auto batches = accelerator.prepare(training.loader);
    for (const data::Batch& batch : batches) body(batch);
  } else {
    for (const data::Batch& batch : training.loader) body(batch);
  }
  steps.values = values_of(training.model);
  return steps;
}

}  // namespace

TEST_CASE("an evaluation in a training loop changes no step of it, however it ends", "[accelerate][loader]") {
  const bool is_prepared = GENERATE(false, true);
  const Steps expected = train_around(is_prepared, -1, [](AcceleratedLoader&) {});
  std::vector<bool> every_fourth;
  for (int micro_batch = 1; micro_batch <= 12; ++micro_batch) every_fourth.push_back(micro_batch % kMicroBatches == 0);
  REQUIRE(expected.synced == every_fourth);
  const std::int64_t at = GENERATE(0, 5, 8, 11);  // before the first, within a step, between two, before the last
  for (const Ending& ending : endings()) {
    INFO(ending.name << ", before micro-batch " << at);
    CHECK(train_around(is_prepared, at, ending.run) == expected);
  }
}

TEST_CASE("a loop around an evaluation has its own rows gathered again after it", "[accelerate][loader][multirank]") {
  const std::size_t which = GENERATE(range(std::size_t{0}, endings().size()));
  std::vector<std::vector<std::int64_t>> found(2);
  run_all(2, [&](comm::JobContext job) {
    std::vector<std::int64_t>& own = found[static_cast<std::size_t>(job.rank)];
    Accelerator accelerator({}, std::move(job));
    Training training(16, {.batch_size = 4, .drop_last = false});
    const data::TensorDataset samples = make_samples(7);
    data::SequentialSampler sampler(7);
    data::DataLoader loader(samples, sampler, {.batch_size = 2, .drop_last = false});
    auto [batches, validation] = accelerator.prepare(training.loader, loader);
    for (const data::Batch& batch : batches) {
      endings()[which].run(validation);  // its last batch has fewer samples
      const Tensor ids = accelerator.gather_for_metrics(batch.sample_ids);
      own.insert(own.end(), ids.span<std::int64_t>().begin(), ids.span<std::int64_t>().end());
    }
  });
  for (const auto& ids : found) CHECK(ids == data::epoch_permutation(3, 0, 16));
}

TEST_CASE("of loaders that are iterated side by side the one that handed out last counts, until it ends",
          "[accelerate][loader]") {
  Accelerator accelerator;
  Training longer(12, {.batch_size = 2}), shorter(8, {.batch_size = 4});
  auto [a, b] = accelerator.prepare(longer.loader, shorter.loader);
  const auto rows = [&accelerator](const data::Batch& batch) {
    return accelerator.gather_for_metrics(batch.sample_ids).shape()[0];
  };
  {
    auto left = a.begin();
    auto right = b.begin();
    CHECK(rows(*right) == 4);
    ++left;
    CHECK(rows(*left) == 2);
    ++right;
    CHECK(rows(*right) == 4);
    ++right;
    REQUIRE(right == b.end());
    CHECK(rows(*left) == 2);  // the shorter one has ended
    CHECK_FALSE(left == a.end());
  }
  CHECK_THROWS_WITH(accelerator.gather_for_metrics(Tensor::zeros({2})),
                    ContainsSubstring("no prepared loader is being iterated"));
}

TEST_CASE("rows from a loader that is not prepared are refused as such, not counted", "[accelerate][loader][fault]") {
  Accelerator accelerator;
  Training training(8, {.batch_size = 4}), evaluation(2, {.batch_size = 2});
  auto validation = accelerator.prepare(evaluation.loader);
  for (const data::Batch& batch : training.loader) {
    endings().front().run(validation);
    CHECK_THROWS_WITH(accelerator.gather_for_metrics(batch.sample_ids), ContainsSubstring("or call gather()"));
  }
}

TEST_CASE("an epoch without a batch, and one whose first batch fails, leave nothing behind", "[accelerate][loader]") {
  class Failing final : public data::Dataset {
   public:
    [[nodiscard]] std::int64_t size() const noexcept override { return 4; }
    [[nodiscard]] data::Batch batch(std::span<const std::int64_t>) const override { throw Error("no such sample"); }
  };
  const Failing samples;
  data::SequentialSampler sampler(4);
  data::DataLoader loader(samples, sampler, {.batch_size = 2});
  Accelerator accelerator({.gradient_accumulation_steps = kMicroBatches});
  Training training(4, {.batch_size = 2});
  auto [net, failing] = accelerator.prepare(training.model, loader);
  CHECK_THROWS_WITH(failing.begin(), "no such sample");
  for ([[maybe_unused]] const data::Batch& batch : training.loader) {
    const auto scope = accelerator.accumulate(net);
    CHECK_FALSE(accelerator.sync_gradients());
  }
}

TEST_CASE("a new beginning forgets the window, not which loader is iterated", "[accelerate][loader]") {
  data::SequentialSampler whole(4);
  const auto shared = std::make_shared<accelerate::GradientState>();
  accelerate::OrderShard shard(whole, {.batch_size = 2}, shared);
  (void)shard.begin_iteration();
  shard.advance(2);
  shared->has_accumulated = true;
  shared->sync_gradients = false;
  shared->begin_anew();
  CHECK(shared->active() == &shard);
  CHECK_FALSE(shared->is_within_window());
}

TEST_CASE("joined loops may be nested, and gather the rows of ranks that have none",
          "[accelerate][loader][multirank]") {
  constexpr std::int64_t kSamples = 9;  // two ranks of 4: the second batch is one sample of rank 0
  std::vector<std::vector<std::int64_t>> found(2);
  std::vector<std::vector<float>> values(2);
  run_all(2, [&](comm::JobContext job) {
    const auto rank = static_cast<std::size_t>(job.rank);
    Accelerator accelerator({.even_batches = false}, std::move(job));
    Training training(kSamples, {.batch_size = 4, .drop_last = false}), other(3, {.batch_size = 1, .drop_last = false});
    auto [net, adam, batches, validation] =
        accelerator.prepare(training.model, training.optimizer, training.loader, other.loader);
    const auto gather = [&](const data::Batch& batch) {
      const Tensor ids =
          accelerator.gather_for_metrics(batch.size() > 0 ? batch.sample_ids : Tensor::zeros({0}, DType::kInt64));
      found[rank].insert(found[rank].end(), ids.span<std::int64_t>().begin(), ids.span<std::int64_t>().end());
    };
    for (const data::Batch& batch : accelerator.join_uneven_inputs(net, batches)) {
      auto inner = accelerator.join_uneven_inputs(net, validation);  // lives on until the body ends
      for ([[maybe_unused]] const data::Batch& sample : inner) {
      }
      gather(batch);
      adam.zero_grad();
      const std::vector<data::Batch> parts(batch.size() > 0 ? 1 : 0, batch);
      for (const data::Batch& part : accelerator.accumulate(net, parts)) accelerator.backward(training.loss_of(part));
      adam.step(1e-2);
    }
    values[rank] = values_of(training.model);
  });
  for (const auto& ids : found) CHECK(ids == data::epoch_permutation(3, 0, kSamples));
  // One process: each target counts alike.
  Training alone(kSamples, {.batch_size = 8, .drop_last = false});
  for (const data::Batch& batch : alone.loader) {
    alone.optimizer.zero_grad();
    alone.loss_of(batch).backward();
    alone.optimizer.step(1e-2);
  }
  for (const auto& of_rank : values) CHECK(largest_difference(of_rank, values_of(alone.model)) < 1e-4);
}
