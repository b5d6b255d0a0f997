#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "data/tensor_dataset.hpp"
#include "data/token_dataset.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

Tokens counting_tokens(int count) {
  Tokens tokens{.ids = {}, .vocabulary_size = 1000, .name = "counting"};
  for (int i = 0; i < count; ++i) tokens.ids.push_back(i);
  return tokens;
}

std::vector<std::int32_t> elements(const Tensor& tensor) {
  const std::span<std::int32_t> span = tensor.span<std::int32_t>();
  return {span.begin(), span.end()};
}

}  // namespace

TEST_CASE("a token sample reads T tokens and predicts each one's follower", "[data]") {
  const TokenDataset dataset(counting_tokens(11), 3);  // 10 targets make 3 samples, one target is left over
  REQUIRE(dataset.size() == 3);
  const std::vector<std::int64_t> indices = {2, 0};
  const Batch batch = dataset.batch(indices);
  CHECK(batch.inputs.shape() == Shape{2, 3});
  CHECK(elements(batch.inputs) == std::vector<std::int32_t>{6, 7, 8, 0, 1, 2});
  CHECK(elements(batch.targets) == std::vector<std::int32_t>{7, 8, 9, 1, 2, 3});
  CHECK(batch.size() == 2);
  CHECK(batch.sample_ids.span<std::int64_t>()[0] == 2);
  CHECK(batch.sample_ids.span<std::int64_t>()[1] == 0);
}

TEST_CASE("exactly one sample needs T + 1 tokens, and T are an error that says so", "[data]") {
  CHECK(TokenDataset(counting_tokens(5), 4).size() == 1);
  CHECK(TokenDataset(counting_tokens(8), 4).size() == 1);
  CHECK(TokenDataset(counting_tokens(9), 4).size() == 2);
  CHECK_THROWS_WITH(TokenDataset(counting_tokens(4), 4),
                    ContainsSubstring("counting: 4 tokens are too few for one sample of context length 4, which needs "
                                      "5"));
  CHECK_THROWS_AS(TokenDataset(counting_tokens(0), 4), FormatError);
  CHECK_THROWS_AS(TokenDataset(counting_tokens(4), 0), ContractError);
}

TEST_CASE("a sample number out of range is a caller's error", "[data]") {
  const TokenDataset dataset(counting_tokens(9), 4);
  const std::vector<std::int64_t> beyond = {0, 2}, negative = {-1};
  CHECK_THROWS_WITH(dataset.batch(beyond), "sample 2 of a dataset of 2 samples");
  CHECK_THROWS_AS(dataset.batch(negative), ContractError);
}

TEST_CASE("random tokens depend on seed and sample alone, and their rule can be learned", "[data]") {
  const RandomTokenDataset::Options options{
      .sample_count = 200, .context_length = 50, .vocabulary_size = 16, .seed = 5};
  const RandomTokenDataset dataset(options);
  const std::vector<std::int64_t> one = {7}, two = {3, 7};
  const std::vector<std::int32_t> alone = elements(dataset.batch(one).inputs);
  const std::vector<std::int32_t> pair = elements(dataset.batch(two).inputs);
  CHECK(std::equal(alone.begin(), alone.end(), pair.begin() + 50));
  CHECK_FALSE(std::equal(alone.begin(), alone.end(), pair.begin()));
  RandomTokenDataset::Options other = options;
  other.seed = 6;
  CHECK(elements(RandomTokenDataset(other).batch(one).inputs) != alone);

  // The entropy of what was drawn, counted, must be the entropy in closed form. 10 000 transitions estimate it with a
  // standard deviation of about sqrt(7/64) * log(7 * 16) / 100 = 0.016; the plug-in bias is 240 / 20 000 = 0.012.
  std::vector<std::int64_t> all(200);
  std::iota(all.begin(), all.end(), 0);
  const Batch batch = dataset.batch(all);
  std::map<std::pair<std::int32_t, std::int32_t>, double> pairs;
  std::map<std::int32_t, double> firsts;
  const auto inputs = elements(batch.inputs), targets = elements(batch.targets);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ++pairs[{inputs[i], targets[i]}];
    ++firsts[inputs[i]];
  }
  double entropy = 0;
  for (const auto& [pair_of_tokens, count] : pairs)
    entropy -= count / 10'000 * std::log(count / firsts[pair_of_tokens.first]);
  CHECK(std::abs(entropy - dataset.lowest_loss()) < 0.06);
  CHECK(dataset.lowest_loss() < 0.5 * std::log(16.0));  // far below guessing
}

TEST_CASE("a tensor dataset stacks rows of any type and shape", "[data]") {
  const std::vector<float> features = {0, 1, 10, 11, 20, 21};
  const std::vector<std::int32_t> labels = {5, 6, 7};
  const TensorDataset dataset(Tensor::from(std::span<const float>(features), {3, 2}),
                              Tensor::from(std::span<const std::int32_t>(labels), {3}));
  CHECK(dataset.size() == 3);
  const std::vector<std::int64_t> indices = {2, 0, 2};
  const Batch batch = dataset.batch(indices);
  CHECK(batch.inputs.shape() == Shape{3, 2});
  CHECK(batch.targets.shape() == Shape{3});
  const auto rows = batch.inputs.span<float>();
  CHECK(std::vector<float>(rows.begin(), rows.end()) == std::vector<float>{20, 21, 0, 1, 20, 21});
  CHECK(elements(batch.targets) == std::vector<std::int32_t>{7, 5, 7});
  const std::vector<std::int64_t> beyond = {3};
  CHECK_THROWS_AS(dataset.batch(beyond), ContractError);
  CHECK_THROWS_WITH(TensorDataset(Tensor::zeros({3, 2}), Tensor::zeros({2})),
                    "features [3, 2] and targets [2] do not have the same number of rows");
}
