#include "data/sampler.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::data;

TEST_CASE("the order of an epoch is a permutation that depends on seed and epoch", "[data]") {
  for (const std::int64_t count : {1, 2, 7, 1000}) {
    std::vector<std::int64_t> order = epoch_permutation(42, 3, count);
    CHECK(order == epoch_permutation(42, 3, count));
    std::sort(order.begin(), order.end());
    std::vector<std::int64_t> identity(static_cast<std::size_t>(count));
    std::iota(identity.begin(), identity.end(), 0);
    CHECK(order == identity);
  }
  CHECK(epoch_permutation(42, 3, 1000) != epoch_permutation(42, 4, 1000));
  CHECK(epoch_permutation(42, 3, 1000) != epoch_permutation(43, 3, 1000));
  CHECK(epoch_permutation(42, 0, 0).empty());
}

TEST_CASE("all six orders of three samples are equally likely", "[data]") {
  std::map<std::vector<std::int64_t>, int> counts;
  for (std::int64_t epoch = 0; epoch < 6000; ++epoch) ++counts[epoch_permutation(1, epoch, 3)];
  REQUIRE(counts.size() == 6);
  // Each count is binomial with mean 1000 and standard deviation 28.9; five of them are allowed.
  for (const auto& [order, count] : counts) CHECK(std::abs(count - 1000) < 145);
}

TEST_CASE("without set_epoch the same order comes again, with it another", "[data]") {
  RandomSampler sampler(50, 9);
  const std::vector<std::int64_t> first = sampler.begin_iteration();
  sampler.advance(50);
  CHECK(sampler.begin_iteration() == first);
  sampler.set_epoch(1);
  CHECK(sampler.begin_iteration() != first);
  CHECK(sampler.begin_iteration() == epoch_permutation(9, 1, 50));
}

TEST_CASE("a loaded state continues once behind what was consumed", "[data]") {
  RandomSampler sampler(10, 9);
  sampler.set_epoch(2);
  const std::vector<std::int64_t> whole = sampler.begin_iteration();
  sampler.advance(4);
  const SamplerState state = sampler.state();
  CHECK(state == SamplerState{.seed = 9, .epoch = 2, .consumed = 4, .dataset_size = 10});

  RandomSampler resumed(10, 1);  // the state's seed counts
  resumed.load_state(state);
  resumed.set_epoch(2);  // what the training loop does first
  CHECK(resumed.begin_iteration() == std::vector<std::int64_t>(whole.begin() + 4, whole.end()));
  CHECK(resumed.state() == state);
  CHECK(resumed.begin_iteration() == whole);
}

TEST_CASE("a state at the end of an epoch resumes with the next", "[data]") {
  RandomSampler sampler(10, 9);
  sampler.load_state({.seed = 9, .epoch = 2, .consumed = 10, .dataset_size = 10});
  CHECK(sampler.epoch() == 3);
  sampler.set_epoch(3);
  CHECK(sampler.begin_iteration() == epoch_permutation(9, 3, 10));
}

TEST_CASE("choosing another epoch forgets a loaded position", "[data]") {
  RandomSampler sampler(10, 9);
  sampler.load_state({.seed = 9, .epoch = 2, .consumed = 4, .dataset_size = 10});
  sampler.set_epoch(5);
  CHECK(sampler.begin_iteration().size() == 10);
}

TEST_CASE("a state of another dataset, or of none, is refused", "[data]") {
  RandomSampler sampler(10, 9);
  CHECK_THROWS_WITH(sampler.load_state({.seed = 9, .epoch = 0, .consumed = 4, .dataset_size = 11}),
                    ContainsSubstring("a dataset of 11 samples, this one has 10"));
  CHECK_THROWS_AS(sampler.load_state({.seed = 9, .epoch = 0, .consumed = -1, .dataset_size = 10}), FormatError);
  CHECK_THROWS_AS(RandomSampler(0, 1), ContractError);
  CHECK_THROWS_AS(sampler.set_epoch(-1), ContractError);
}

namespace {

// A distributed sampler, in short: rank r of W takes every W-th position.
class EveryWth final : public Sampler {
 public:
  EveryWth(std::int64_t dataset_size, std::uint64_t seed, int rank, int world_size)
      : Sampler(dataset_size, seed), rank_(rank), world_size_(world_size) {}
  [[nodiscard]] std::int64_t samples_per_epoch() const override { return positions_per_epoch() / world_size_; }

 protected:
  [[nodiscard]] int replica_count() const noexcept override { return world_size_; }
  [[nodiscard]] std::vector<std::int64_t> indices_from(std::int64_t first) const override {
    const std::vector<std::int64_t> order = epoch_permutation(state().seed, state().epoch, state().dataset_size);
    std::vector<std::int64_t> mine;
    for (auto position = static_cast<std::size_t>(first + rank_); position < order.size(); position += world_size_)
      mine.push_back(order[position]);
    return mine;
  }

 private:
  int rank_;
  int world_size_;
};

}  // namespace

TEST_CASE("a job resumed on another number of ranks neither repeats nor skips a sample", "[data]") {
  std::vector<std::int64_t> seen;
  SamplerState state;
  for (int rank = 0; rank < 4; ++rank) {  // four ranks take 3 samples each of 24
    EveryWth sampler(24, 5, rank, 4);
    const std::vector<std::int64_t> indices = sampler.begin_iteration();
    seen.insert(seen.end(), indices.begin(), indices.begin() + 3);
    sampler.advance(3);
    state = sampler.state();
  }
  CHECK(state.consumed == 12);
  for (int rank = 0; rank < 3; ++rank) {  // three ranks take the rest
    EveryWth sampler(24, 5, rank, 3);
    sampler.load_state(state);
    const std::vector<std::int64_t> indices = sampler.begin_iteration();
    CHECK(indices.size() == 4);
    seen.insert(seen.end(), indices.begin(), indices.end());
  }
  std::sort(seen.begin(), seen.end());
  std::vector<std::int64_t> everything(24);
  std::iota(everything.begin(), everything.end(), 0);
  CHECK(seen == everything);
}
