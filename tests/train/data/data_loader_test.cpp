#include "data/data_loader.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <type_traits>

#include "base/error.hpp"
#include "data/token_dataset.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

using Ids = std::vector<std::int64_t>;

TokenDataset counting_dataset(int sample_count, int context_length = 3) {
  Tokens tokens{.ids = {}, .vocabulary_size = 100'000, .name = "counting"};
  for (int i = 0; i <= sample_count * context_length; ++i) tokens.ids.push_back(i);
  return {std::move(tokens), context_length};
}

Ids ids_of(const Batch& batch) {
  const auto ids = batch.sample_ids.span<std::int64_t>();
  return {ids.begin(), ids.end()};
}

std::vector<Ids> drain(DataLoader& loader) {
  std::vector<Ids> batches;
  for (const Batch& batch : loader) batches.push_back(ids_of(batch));
  return batches;
}

// Throws when asked for one sample.
class FailingDataset final : public Dataset {
 public:
  explicit FailingDataset(std::int64_t bad) : good_(counting_dataset(20)), bad_(bad) {}
  [[nodiscard]] std::int64_t size() const noexcept override { return good_.size(); }
  [[nodiscard]] Batch batch(std::span<const std::int64_t> indices) const override {
    for (const std::int64_t index : indices)
      if (index == bad_) throw FormatError(concat("shard 3: sample ", index, " is damaged"));
    return good_.batch(indices);
  }

 private:
  TokenDataset good_;
  std::int64_t bad_;
};

constexpr std::chrono::milliseconds kReading{10};

// Takes kReading for each batch.
class SlowDataset final : public Dataset {
 public:
  [[nodiscard]] std::int64_t size() const noexcept override { return good_.size(); }
  [[nodiscard]] Batch batch(std::span<const std::int64_t> indices) const override {
    std::this_thread::sleep_for(kReading);
    return good_.batch(indices);
  }

 private:
  TokenDataset good_ = counting_dataset(20);
};

}  // namespace

TEST_CASE("the loader yields what direct indexing in the sampler's order gives", "[data]") {
  const TokenDataset dataset = counting_dataset(10);
  RandomSampler sampler(dataset.size(), 77);
  for (const int prefetch : {1, 2, 50}) {
    DataLoader loader(dataset, sampler, {.batch_size = 3, .prefetch_batches = prefetch});
    const Ids order = epoch_permutation(77, 0, 10);
    std::size_t position = 0;
    for (const Batch& batch : loader) {
      const Ids expected(order.begin() + position, order.begin() + position + 3);
      CHECK(ids_of(batch) == expected);
      const Batch direct = dataset.batch(expected);
      const auto got = batch.targets.span<std::int32_t>(), want = direct.targets.span<std::int32_t>();
      CHECK(std::equal(got.begin(), got.end(), want.begin(), want.end()));
      position += 3;
    }
    CHECK(position == 9);  // the tenth sample does not fill a batch
    CHECK(loader.batches_per_epoch() == 3);
  }
}

TEST_CASE("samples that do not fill a batch make a smaller one if they are kept", "[data]") {
  const TokenDataset dataset = counting_dataset(10);
  SequentialSampler sampler(dataset.size());
  DataLoader loader(dataset, sampler, {.batch_size = 4, .drop_last = false});
  CHECK(drain(loader) == std::vector<Ids>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}});
  CHECK(drain(loader).size() == 3);  // and again, for the next validation
  CHECK(loader.batches_per_epoch() == 3);
}

TEST_CASE("an epoch without a batch is an error instead of a loop that never ends", "[data]") {
  const TokenDataset dataset = counting_dataset(3);
  SequentialSampler sampler(dataset.size());
  CHECK_THROWS_WITH(DataLoader(dataset, sampler, {.batch_size = 4}),
                    ContainsSubstring("an epoch of 3 samples on this rank has no batch of 4"));
  CHECK_NOTHROW(DataLoader(dataset, sampler, {.batch_size = 4, .drop_last = false}));
  CHECK_THROWS_AS(DataLoader(dataset, sampler, {.batch_size = 0}), ContractError);
  RandomSampler of_another(dataset.size() + 1, 1);
  CHECK_THROWS_WITH(DataLoader(dataset, of_another, {.batch_size = 1}),
                    ContainsSubstring("make it with the dataset's size()"));
}

TEST_CASE("a dataset that would die before the loader is refused by the compiler", "[data]") {
  CHECK(std::is_constructible_v<DataLoader, const TokenDataset&, Sampler&, DataLoaderOptions>);
  CHECK_FALSE(std::is_constructible_v<DataLoader, TokenDataset, Sampler&, DataLoaderOptions>);
}

TEST_CASE("the sampler counts batches handed out, not batches prepared ahead", "[data]") {
  const TokenDataset dataset = counting_dataset(20);
  RandomSampler sampler(dataset.size(), 1);
  DataLoader loader(dataset, sampler, {.batch_size = 2, .prefetch_batches = 8});
  std::int64_t handed_out = 0;
  for (const Batch& batch : loader) {
    handed_out += batch.size();
    CHECK(sampler.state().consumed == handed_out);
  }
  CHECK(handed_out == 20);
}

TEST_CASE("a run stopped after any batch and resumed sees what an uninterrupted one sees", "[data]") {
  constexpr int kEpochs = 3;
  const TokenDataset dataset = counting_dataset(11);
  // Returns the batches seen until `stop_after` of them, and the state at that moment.
  const auto run = [&](std::optional<SamplerState> from, std::size_t stop_after) {
    RandomSampler sampler(dataset.size(), from ? 999 : 5);
    if (from) sampler.load_state(*from);
    DataLoader loader(dataset, sampler, {.batch_size = 3});
    std::vector<Ids> seen;
    for (std::int64_t epoch = sampler.epoch(); epoch < kEpochs && seen.size() < stop_after; ++epoch) {
      sampler.set_epoch(epoch);
      for (const Batch& batch : loader) {
        seen.push_back(ids_of(batch));
        if (seen.size() == stop_after) break;
      }
    }
    return std::pair(seen, sampler.state());
  };
  const std::vector<Ids> whole = run(std::nullopt, 1000).first;
  REQUIRE(whole.size() == 9);
  for (std::size_t stop = 1; stop < whole.size(); ++stop) {
    auto [seen, state] = run(std::nullopt, stop);
    const std::vector<Ids> rest = run(state, 1000).first;
    seen.insert(seen.end(), rest.begin(), rest.end());
    CHECK(seen == whole);
  }
}

TEST_CASE("an iteration left early ends, and the next starts from the beginning", "[data]") {
  const TokenDataset dataset = counting_dataset(100);
  SequentialSampler sampler(dataset.size());
  DataLoader loader(dataset, sampler, {.batch_size = 2});
  for (int round = 0; round < 3; ++round) {
    for (const Batch& batch : loader) {
      CHECK(ids_of(batch) == Ids{0, 1});
      break;
    }
  }
  CHECK(drain(loader).size() == 50);
}

TEST_CASE("an error of the dataset comes out of the iterator, after the batches before it", "[data]") {
  const FailingDataset dataset(5);
  SequentialSampler sampler(dataset.size());
  DataLoader loader(dataset, sampler, {.batch_size = 2});
  std::vector<Ids> seen;
  const auto iterate = [&] {
    for (const Batch& batch : loader) seen.push_back(ids_of(batch));
  };
  CHECK_THROWS_WITH(iterate(), "shard 3: sample 5 is damaged");
  CHECK(seen == std::vector<Ids>{{0, 1}, {2, 3}});
  CHECK(sampler.state().consumed == 4);
}

namespace {

// Takes longer for early samples than for late ones, and notes which threads came.
class UnevenDataset final : public Dataset {
 public:
  explicit UnevenDataset(std::int64_t samples) : good_(counting_dataset(static_cast<int>(samples))) {}
  [[nodiscard]] std::int64_t size() const noexcept override { return good_.size(); }
  [[nodiscard]] Batch batch(std::span<const std::int64_t> indices) const override {
    const std::int64_t turns = indices[0] % 7 == 0 ? 200'000 : 10;
    for (std::int64_t i = 0; i < turns; ++i) work_.fetch_add(1, std::memory_order_relaxed);
    return good_.batch(indices);
  }

 private:
  TokenDataset good_;
  mutable std::atomic<std::int64_t> work_{0};
};

}  // namespace

TEST_CASE("several workers yield the same batches in the same order as one", "[data]") {
  const UnevenDataset dataset(200);
  RandomSampler sampler(dataset.size(), 4);
  DataLoader alone(dataset, sampler, {.batch_size = 3, .drop_last = false});
  const std::vector<Ids> expected = drain(alone);
  REQUIRE(expected.size() == 67);
  for (const int workers : {2, 3, 8}) {
    for (const int prefetch : {1, 4, 100}) {
      DataLoader loader(dataset, sampler,
                        {.batch_size = 3, .drop_last = false, .prefetch_batches = prefetch, .num_workers = workers});
      CHECK(drain(loader) == expected);
    }
  }
}

TEST_CASE("with several workers an error still comes after the batches before it, and again when asked again",
          "[data]") {
  const FailingDataset dataset(5);
  SequentialSampler sampler(dataset.size());
  DataLoader loader(dataset, sampler, {.batch_size = 2, .prefetch_batches = 6, .num_workers = 4});
  std::vector<Ids> seen;
  auto iterator = loader.begin();
  const auto advance = [&] {
    while (iterator != loader.end()) {
      seen.push_back(ids_of(*iterator));
      ++iterator;
    }
  };
  CHECK_THROWS_WITH(advance(), "shard 3: sample 5 is damaged");
  CHECK(seen == std::vector<Ids>{{0, 1}, {2, 3}});
  CHECK_THROWS_WITH(++iterator, "shard 3: sample 5 is damaged");
  CHECK_THROWS_AS(DataLoader(dataset, sampler, {.num_workers = 0}), ContractError);
}

TEST_CASE("an iteration with several workers can be left early", "[data]") {
  const UnevenDataset dataset(500);
  SequentialSampler sampler(dataset.size());
  DataLoader loader(dataset, sampler, {.batch_size = 2, .prefetch_batches = 5, .num_workers = 4});
  for (int round = 0; round < 20; ++round) {
    for (const Batch& batch : loader) {
      CHECK(ids_of(batch) == Ids{0, 1});
      break;
    }
  }
  CHECK(drain(loader).size() == 250);
}

TEST_CASE("the loader counts the time that its reader waits, and no other", "[data]") {
  const SlowDataset dataset;
  SequentialSampler sampler(dataset.size());
  DataLoader loader(dataset, sampler, {.batch_size = 2, .prefetch_batches = 1});
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::nanoseconds between{0};
  for ([[maybe_unused]] const Batch& batch : loader) {
    const auto computing = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(kReading / 2);
    between += std::chrono::steady_clock::now() - computing;
  }
  const auto whole = std::chrono::steady_clock::now() - begin;
  CHECK(loader.time_waited() <= whole - between);
  CHECK(loader.time_waited() >= (whole - between) / 2);  // the rest: starting the worker, and a busy machine
}
