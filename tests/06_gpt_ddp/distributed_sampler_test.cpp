#include "06_gpt_ddp/distributed_sampler.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "base/error.hpp"
#include "data/data_loader.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using ddp::DistributedSampler;

namespace {

std::vector<std::int64_t> share(std::int64_t samples, int rank, int world_size,
                                const ddp::DistributedSamplerOptions& options = {}, std::int64_t epoch = 0) {
  DistributedSampler sampler(samples, rank, world_size, options);
  sampler.set_epoch(epoch);
  return sampler.begin_iteration();
}

}  // namespace

TEST_CASE("ranks take every world_size-th sample and pad from the start, as PyTorch does", "[ddp]") {
  const ddp::DistributedSamplerOptions options{.shuffle = ddp::Shuffle::kNo};
  // list(DistributedSampler(range(10), 4, rank, shuffle=False)) in PyTorch 1.13
  CHECK(share(10, 0, 4, options) == std::vector<std::int64_t>{0, 4, 8});
  CHECK(share(10, 1, 4, options) == std::vector<std::int64_t>{1, 5, 9});
  CHECK(share(10, 2, 4, options) == std::vector<std::int64_t>{2, 6, 0});
  CHECK(share(10, 3, 4, options) == std::vector<std::int64_t>{3, 7, 1});
  // 2 samples for 5 ranks: 0 1 0 1 0
  CHECK(share(2, 4, 5, options) == std::vector<std::int64_t>{0});
}

TEST_CASE("dropping leaves out the end of the order", "[ddp]") {
  const ddp::DistributedSamplerOptions options{.shuffle = ddp::Shuffle::kNo, .remainder = ddp::Remainder::kDrop};
  CHECK(share(10, 3, 4, options) == std::vector<std::int64_t>{3, 7});
  CHECK_THROWS_AS(DistributedSampler(3, 0, 4, options), ContractError);
}

TEST_CASE("evaluation deals every sample exactly once", "[ddp]") {
  ddp::EvaluationSampler rank_1(10, 1, 4), rank_2(10, 2, 4);
  CHECK(rank_1.begin_iteration() == std::vector<std::int64_t>{1, 5, 9});
  CHECK(rank_1.samples_per_epoch() == 3);
  CHECK(rank_2.begin_iteration() == std::vector<std::int64_t>{2, 6});
  CHECK(rank_2.samples_per_epoch() == 2);
  ddp::EvaluationSampler without_samples(2, 3, 4);
  CHECK(without_samples.begin_iteration().empty());
  CHECK(without_samples.samples_per_epoch() == 0);
  CHECK_THROWS_AS(ddp::EvaluationSampler(3, 4, 4), ContractError);
}

TEST_CASE("every sample is seen once per epoch when the ranks divide the dataset", "[ddp]") {
  const int world_size = GENERATE(1, 2, 3, 4, 6);
  std::map<std::int64_t, int> seen;
  for (int rank = 0; rank < world_size; ++rank) {
    for (const std::int64_t index : share(60, rank, world_size, {.seed = 9}, 2)) ++seen[index];
  }
  CHECK(seen.size() == 60);
  CHECK(std::ranges::all_of(seen, [](const auto& entry) { return entry.second == 1; }));
}

TEST_CASE("the k-th batches of all ranks make up the k-th batch of one process", "[ddp]") {
  constexpr std::int64_t kGlobalBatch = 12;
  data::RandomSampler single(120, 5);
  single.set_epoch(3);
  const auto order = single.begin_iteration();
  for (const int world_size : {2, 3, 4}) {
    const std::int64_t batch = kGlobalBatch / world_size;
    for (std::int64_t k = 0; k < 10; ++k) {
      std::vector<std::int64_t> together;
      for (int rank = 0; rank < world_size; ++rank) {
        const auto own = share(120, rank, world_size, {.seed = 5}, 3);
        together.insert(together.end(), own.begin() + k * batch, own.begin() + (k + 1) * batch);
      }
      std::vector<std::int64_t> expected(order.begin() + k * kGlobalBatch, order.begin() + (k + 1) * kGlobalBatch);
      std::ranges::sort(together);
      std::ranges::sort(expected);
      CHECK(together == expected);
    }
  }
}

TEST_CASE("without set_epoch the order repeats, and with it every epoch has its own", "[ddp]") {
  DistributedSampler sampler(100, 1, 2, {.seed = 4});
  const auto first = sampler.begin_iteration();
  CHECK(sampler.begin_iteration() == first);
  sampler.set_epoch(1);
  CHECK(sampler.begin_iteration() != first);
}

TEST_CASE("a position saved by two ranks is continued by three without repeating or skipping", "[ddp]") {
  DistributedSampler before(60, 0, 2, {.seed = 8});
  const auto order = data::epoch_permutation(8, 0, 60);
  REQUIRE(before.begin_iteration().size() == 30);
  before.advance(9);  // on each of two ranks: the first 18 positions are done
  std::vector<std::int64_t> rest;
  for (int rank = 0; rank < 3; ++rank) {
    DistributedSampler after(60, rank, 3, {.seed = 8});
    after.load_state(before.state());
    const auto own = after.begin_iteration();
    rest.insert(rest.end(), own.begin(), own.end());
  }
  std::vector<std::int64_t> expected(order.begin() + 18, order.end());
  std::ranges::sort(rest);
  std::ranges::sort(expected);
  CHECK(rest == expected);
}

namespace {

// The global batches of the training from `state` on, as sorted sample numbers, at most `limit` of them; and the state
// then. Every rank has a loader of its own, as in the trainer.
struct Walk {
  std::vector<std::vector<std::int64_t>> batches;
  data::SamplerState state;
};

class Numbers final : public data::Dataset {
 public:
  explicit Numbers(std::int64_t count) : count_(count) {}
  [[nodiscard]] std::int64_t size() const noexcept override { return count_; }
  [[nodiscard]] data::Batch batch(std::span<const std::int64_t> indices) const override {
    const auto ids = Tensor::from(indices, {static_cast<std::int64_t>(indices.size())});
    return {ids, ids, ids};
  }

 private:
  std::int64_t count_;
};

Walk walk(int world_size, std::int64_t samples, std::int64_t global_batch, std::size_t limit,
          const data::SamplerState* from = nullptr) {
  const Numbers dataset(samples);
  Walk result;
  for (int rank = 0; rank < world_size; ++rank) {
    DistributedSampler sampler(samples, rank, world_size, {.seed = 5, .remainder = ddp::Remainder::kDrop});
    if (from) sampler.load_state(*from);
    data::DataLoader loader(dataset, sampler, {.batch_size = global_batch / world_size, .num_workers = 2});
    std::size_t step = 0;
    for (std::int64_t epoch = sampler.epoch(); step < limit; ++epoch) {
      sampler.set_epoch(epoch);
      for (const data::Batch& batch : loader) {
        if (result.batches.size() <= step) result.batches.emplace_back();
        const auto ids = batch.sample_ids.span<std::int64_t>();
        result.batches[step].insert(result.batches[step].end(), ids.begin(), ids.end());
        if (++step == limit) break;
      }
    }
    result.state = sampler.state();
  }
  for (auto& batch : result.batches) std::ranges::sort(batch);
  return result;
}

}  // namespace

TEST_CASE("a run stopped anywhere and resumed at another world size goes on with the same global batches", "[ddp]") {
  // 12 samples a step; datasets that no world size and no batch divides, one that both do, and one where a sampler that
  // pads (47 samples for 4 ranks are 48 positions) would have one batch more than a single process.
  const std::int64_t samples = GENERATE(41, 47, 36, 13);
  constexpr std::size_t kSteps = 10;
  const Walk whole = walk(1, samples, 12, kSteps);
  REQUIRE(whole.batches.size() == kSteps);
  for (const int before : {1, 2, 3, 4}) {
    for (const int after : {1, 2, 3, 4, 6}) {
      for (std::size_t stop = 1; stop < kSteps; ++stop) {
        Walk parts = walk(before, samples, 12, stop);
        const Walk rest = walk(after, samples, 12, kSteps - stop, &parts.state);
        parts.batches.insert(parts.batches.end(), rest.batches.begin(), rest.batches.end());
        if (parts.batches != whole.batches) FAIL_CHECK("from " << before << " to " << after << " ranks after " << stop);
      }
    }
  }
}

TEST_CASE("with padding, resuming at another world size still sees every sample, and repeats only at the end",
          "[ddp]") {
  constexpr std::int64_t kSamples = 23;  // padded to 24 for 2, 3 and 4 ranks, to 25 for 5
  const auto order = data::epoch_permutation(5, 0, kSamples);
  for (const int before : {1, 2, 3, 4, 5}) {
    for (const int after : {1, 2, 3, 4, 5}) {
      for (std::int64_t done_each = 1; done_each * before < kSamples; ++done_each) {
        std::map<std::int64_t, int> seen;
        data::SamplerState state;
        for (int rank = 0; rank < before; ++rank) {
          DistributedSampler sampler(kSamples, rank, before, {.seed = 5});
          const auto own = sampler.begin_iteration();
          for (std::int64_t i = 0; i < done_each; ++i) ++seen[own[static_cast<std::size_t>(i)]];
          sampler.advance(done_each);
          state = sampler.state();
        }
        std::int64_t repeated = 0;
        for (int rank = 0; rank < after; ++rank) {
          DistributedSampler sampler(kSamples, rank, after, {.seed = 5});
          sampler.load_state(state);
          for (const std::int64_t index : sampler.begin_iteration()) ++seen[index];
        }
        for (const auto& [index, times] : seen) repeated += times - 1;
        const std::int64_t left = kSamples - done_each * before;
        const std::int64_t padding = (after - left % after) % after;
        CAPTURE(before, after, done_each);
        CHECK(seen.size() == kSamples);
        CHECK(repeated <= padding);
      }
    }
  }
}
