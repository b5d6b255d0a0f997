#include "07_launch_and_survive/elastic_sampler.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "data/data_loader.hpp"
#include "data/token_dataset.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using elastic::ElasticSampler;

namespace {

using Samples = std::vector<std::int64_t>;
constexpr std::int64_t kSamples = 43;

// The batches that all ranks together take from here to the epoch's end, each in rising order.
std::vector<Samples> global_batches(const data::SamplerState& from, int world_size,
                                    const elastic::ElasticSamplerOptions& options) {
  std::vector<Samples> batches;
  for (int rank = 0; rank < world_size; ++rank) {
    ElasticSampler sampler(kSamples, rank, world_size, options);
    sampler.load_state(from);
    const Samples own = sampler.begin_iteration();
    std::size_t batch = 0;
    for (auto next = own.begin(); next != own.end(); ++batch) {
      const auto end = next + std::min<std::ptrdiff_t>(sampler.share(), own.end() - next);
      if (batch == batches.size()) batches.emplace_back();
      batches[batch].insert(batches[batch].end(), next, end);
      next = end;
    }
  }
  for (Samples& batch : batches) std::ranges::sort(batch);
  return batches;
}

data::SamplerState beginning(const elastic::ElasticSamplerOptions& options) {
  return ElasticSampler(kSamples, 0, 1, options).state();
}

}  // namespace

TEST_CASE("the global batches are the same at every number of ranks", "[elastic]") {
  const int world_size = GENERATE(1, 2, 3, 4, 5, 8);
  const std::int64_t batch_size = GENERATE(8, 9, 43, 50);
  const auto remainder = GENERATE(ddp::Remainder::kDrop, ddp::Remainder::kKeep);
  if (remainder == ddp::Remainder::kDrop && batch_size > kSamples) return;  // no batch at all
  const elastic::ElasticSamplerOptions options{.global_batch_size = batch_size, .seed = 5, .remainder = remainder};
  CAPTURE(world_size, batch_size);
  // The samples of a single process, without the class under test.
  const Samples order = data::epoch_permutation(5, 0, kSamples);
  std::vector<Samples> expected;
  for (std::int64_t begin = 0; begin < kSamples; begin += batch_size) {
    const std::int64_t end = std::min(begin + batch_size, kSamples);
    if (end - begin < batch_size && remainder == ddp::Remainder::kDrop) break;
    expected.emplace_back(order.begin() + begin, order.begin() + end);
    std::ranges::sort(expected.back());
  }
  CHECK(global_batches(beginning(options), world_size, options) == expected);
}

TEST_CASE("where the ranks divide the batch, each has the samples of a DistributedSampler", "[elastic]") {
  const int world_size = GENERATE(1, 2, 4);
  for (int rank = 0; rank < world_size; ++rank) {
    ElasticSampler elastic(kSamples, rank, world_size, {.global_batch_size = 8, .seed = 3});
    ddp::DistributedSampler plain(kSamples, rank, world_size, {.seed = 3, .remainder = ddp::Remainder::kDrop});
    elastic.set_epoch(2);
    plain.set_epoch(2);
    const Samples own = elastic.begin_iteration();
    Samples expected = plain.begin_iteration();
    expected.resize(own.size());  // the plain one ends with samples that fill no batch; the loader drops them
    CHECK(own == expected);
    CHECK(elastic.samples_per_epoch() == 40 / world_size);
  }
}

TEST_CASE("an epoch begun by some ranks is finished by others", "[elastic]") {
  const elastic::ElasticSamplerOptions options{.global_batch_size = 8, .seed = 1};
  const auto whole = global_batches(beginning(options), 1, options);
  ElasticSampler first(kSamples, 2, 5, options);
  CHECK(first.share() == 2);
  (void)first.begin_iteration();
  first.advance(2);
  first.advance(2);
  CHECK(first.state().consumed == 16);
  const int world_size = GENERATE(1, 3, 4);
  CHECK(global_batches(first.state(), world_size, options) == std::vector(whole.begin() + 2, whole.end()));
}

TEST_CASE("a loader takes batches of the rank's share, and the state counts whole batches", "[elastic]") {
  const data::TokenDataset dataset(
      {.ids = std::vector<std::int32_t>(kSamples * 4 + 1), .vocabulary_size = 1, .name = "zeros"}, 4);
  REQUIRE(dataset.size() == kSamples);
  const auto remainder = GENERATE(ddp::Remainder::kDrop, ddp::Remainder::kKeep);
  const bool drops = remainder == ddp::Remainder::kDrop;
  for (int rank = 0; rank < 3; ++rank) {
    ElasticSampler sampler(kSamples, rank, 3, {.global_batch_size = 8, .remainder = remainder});
    data::DataLoader loader(dataset, sampler, {.batch_size = sampler.share(), .drop_last = drops});
    std::int64_t batches = 0, samples = 0;
    for (const data::Batch& batch : loader) {
      ++batches;
      samples += batch.size();
      CHECK(sampler.state().consumed == std::min(batches * 8, kSamples));
    }
    CHECK(batches == (drops ? 5 : 6));
    CHECK(samples == sampler.samples_per_epoch());
  }
}

TEST_CASE("an elastic sampler refuses what it cannot deal", "[elastic]") {
  CHECK_THROWS_AS(ElasticSampler(kSamples, 3, 3, {.global_batch_size = 8}), ContractError);
  CHECK_THROWS_WITH(ElasticSampler(kSamples, 0, 3, {.global_batch_size = 2}),
                    ContainsSubstring("a global batch of 2 has no sample for some of 3 ranks"));
  CHECK_THROWS_AS(ElasticSampler(kSamples, 0, 3, {.global_batch_size = 8, .remainder = ddp::Remainder::kPad}),
                  ContractError);
  ElasticSampler sampler(kSamples, 0, 3, {.global_batch_size = 8});
  (void)sampler.begin_iteration();
  CHECK_THROWS_WITH(sampler.advance(2), ContainsSubstring("rank 0 took 2 samples") && ContainsSubstring("is 3;"));
}
