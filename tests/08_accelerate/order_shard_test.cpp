// How the order of one process's sampler is dealt to ranks: against chapter 06's sampler, and by counting.
#include "08_accelerate/prepared/order_shard.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "06_gpt_ddp/distributed_sampler.hpp"
#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using accelerate::GradientState;
using accelerate::OrderShard;
using accelerate::ShardOptions;

namespace {

std::shared_ptr<GradientState> no_state() { return std::make_shared<GradientState>(); }

// The samples of rank `rank` in `epoch`, from `consumed` positions of the job's order on.
std::vector<std::int64_t> dealt(std::int64_t samples, const ShardOptions& options, std::int64_t epoch = 0,
                                std::int64_t consumed = 0) {
  data::RandomSampler whole(samples, 7);
  whole.set_epoch(epoch);
  if (consumed > 0) whole.load_state({.seed = 7, .epoch = epoch, .consumed = consumed, .dataset_size = samples});
  OrderShard shard(whole, options, no_state());
  return shard.begin_iteration();
}

}  // namespace

TEST_CASE("any sampler's order is dealt as chapter 06's sampler deals its own", "[accelerate][loader]") {
  const std::int64_t samples = GENERATE(1, 4, 5, 24, 29);
  const int world_size = GENERATE(1, 2, 3, 4, 5, 8);
  const bool is_even = GENERATE(true, false);
  const auto remainder = is_even ? ddp::Remainder::kPad : ddp::Remainder::kKeep;
  for (int rank = 0; rank < world_size; ++rank) {
    ddp::DistributedSampler expected(samples, rank, world_size, {.seed = 7, .remainder = remainder});
    for (const std::int64_t epoch : {0, 1}) {
      expected.set_epoch(epoch);
      const auto found =
          dealt(samples,
                {.rank = rank, .world_size = world_size, .batch_size = 2, .drop_last = false, .even_batches = is_even},
                epoch);
      CHECK(found == expected.begin_iteration());
    }
  }
}

TEST_CASE("drop_last leaves out what does not fill a batch on every rank", "[accelerate][loader]") {
  const std::int64_t samples = 29;
  std::set<std::int64_t> all;
  for (int rank = 0; rank < 3; ++rank) {
    const auto own = dealt(samples, {.rank = rank, .world_size = 3, .batch_size = 4, .drop_last = true});
    CHECK(own.size() == 8);  // two batches of 4: 29 samples are two global batches of 12, and 5 more
    all.insert(own.begin(), own.end());
  }
  CHECK(all.size() == 24);
}

TEST_CASE("an epoch that is continued deals what an uninterrupted one would have, repeated samples included",
          "[accelerate][loader]") {
  const std::int64_t samples = 23;  // 3 ranks of 2: four global batches, of which the last has 5 samples and 1 repeated
  for (int rank = 0; rank < 3; ++rank) {
    const ShardOptions options{.rank = rank, .world_size = 3, .batch_size = 2, .drop_last = false};
    const auto whole = dealt(samples, options, 1);
    const auto rest = dealt(samples, options, 1, 12);
    CHECK(rest == std::vector<std::int64_t>(whole.begin() + 4, whole.end()));
  }
}

TEST_CASE("the wrapped sampler counts the samples of all ranks, even if they have unequal batches",
          "[accelerate][loader]") {
  data::SequentialSampler whole(7);
  const auto shared = no_state();
  OrderShard shard(whole, {.rank = 0, .world_size = 4, .batch_size = 1, .drop_last = false, .even_batches = false},
                   shared);
  CHECK(shard.batches_per_epoch() == 2);
  CHECK(shard.begin_iteration() == std::vector<std::int64_t>{0, 4});
  shard.advance(1);
  CHECK(whole.state().consumed == 4);
  CHECK(shared->active() == &shard);
  CHECK_FALSE(shard.is_at_end());
  CHECK(shard.real_samples() == 4);
  shard.advance(1);
  CHECK(whole.state().consumed == 7);
  CHECK(shard.is_at_end());
  CHECK(shard.real_samples() == 3);
  CHECK(shard.samples_of(2) == 1);
  CHECK(shard.samples_of(3) == 0);
}

TEST_CASE("a shard refuses ranks that do not exist", "[accelerate][loader]") {
  data::SequentialSampler whole(7);
  CHECK_THROWS_AS(OrderShard(whole, {.rank = 2, .world_size = 2}, no_state()), ContractError);
  CHECK_THROWS_AS(OrderShard(whole, {.batch_size = 0}, no_state()), ContractError);
}
