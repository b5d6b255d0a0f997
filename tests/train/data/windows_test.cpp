#include "data/windows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "data/corpus.hpp"
#include "data/data_loader.hpp"
#include "data/token_dataset.hpp"
#include "data/token_file.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

Tokens numbered_tokens(int count) {
  Tokens tokens{.ids = {}, .vocabulary_size = 60'000, .name = "counting"};
  for (int i = 0; i < count; ++i) tokens.ids.push_back(i);
  return tokens;
}

// The first token of each sample in the order in which a loader deals them; the tokens are their own places.
std::vector<std::int32_t> first_tokens(DataLoader& loader) {
  std::vector<std::int32_t> first;
  for (const Batch& batch : loader) {
    const std::int64_t length = batch.inputs.shape()[1];
    for (std::int64_t row = 0; row < batch.size(); ++row) {
      first.push_back(batch.inputs.span<std::int32_t>()[static_cast<std::size_t>(row * length)]);
    }
  }
  return first;
}

}  // namespace

TEST_CASE("fixed windows follow one another in every epoch", "[data]") {
  const Windows windows({.token_count = 31, .context_length = 5}, "text");
  CHECK(windows.count() == 6);
  for (std::int64_t i = 0; i < 6; ++i) CHECK(windows.first_token(i, i) == 5 * i);
  CHECK_THROWS_WITH(windows.first_token(6, 0), ContainsSubstring("sample 6 of a dataset of 6 samples"));
  CHECK_THROWS_AS(windows.first_token(-1, 0), ContractError);
}

TEST_CASE("random windows begin everywhere equally often, up to the last that fits", "[data]") {
  const Windows windows({.token_count = 60, .context_length = 20, .placement = Placement::kRandom, .seed = 3}, "text");
  CHECK(windows.count() == 2);
  constexpr int kEpochs = 10'000, kPlaces = 40;  // 60 - 20: the last window reads 40 to 58 and predicts 59 last
  std::vector<double> share(kPlaces);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    for (std::int64_t i = 0; i < 2; ++i) share.at(static_cast<std::size_t>(windows.first_token(i, epoch))) += 1;
  }
  // 20000 draws: 500 per place, with a standard deviation of about sqrt(500); five of them are 112.
  for (const double count : share) CHECK(std::abs(count - 500) < 112);
}

TEST_CASE("random windows depend on seed, epoch and number, and on nothing else", "[data]") {
  const Windows::Options options{.token_count = 5000, .context_length = 10, .placement = Placement::kRandom, .seed = 3};
  Windows::Options other_seed = options;
  other_seed.seed = 4;
  const Windows windows(options, "a"), same(options, "b"), other(other_seed, "c");
  const auto places = [](const Windows& from, std::int64_t epoch) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < from.count(); ++i) all.push_back(from.first_token(i, epoch));
    return all;
  };
  CHECK(places(windows, 7) == places(same, 7));
  CHECK(places(windows, 7) != places(windows, 8));
  CHECK(places(windows, 7) != places(other, 7));
  const auto drawn = places(windows, 7);
  CHECK(std::set<std::int64_t>(drawn.begin(), drawn.end()).size() > drawn.size() * 9 / 10);  // few meet by chance
}

TEST_CASE("a loader deals other random windows in each epoch, and goes on where it stopped", "[data]") {
  const TokenDataset dataset(numbered_tokens(1001), 10, Placement::kRandom, 5);
  CHECK(dataset.size() == 100);
  RandomSampler sampler(dataset.size(), 2);
  DataLoader loader(dataset, sampler, {.batch_size = 10, .num_workers = 2});
  const auto first = first_tokens(loader);
  sampler.set_epoch(1);
  const auto second = first_tokens(loader);
  CHECK(first.size() == 100);
  CHECK(std::set<std::int32_t>(first.begin(), first.end()) != std::set<std::int32_t>(second.begin(), second.end()));

  SamplerState state = sampler.state();
  state.consumed = 40;
  RandomSampler resumed(dataset.size(), 2);
  resumed.load_state(state);
  DataLoader rest(dataset, resumed, {.batch_size = 10});
  CHECK(first_tokens(rest) == std::vector<std::int32_t>(second.begin() + 40, second.end()));
}

TEST_CASE("a text and a token file of its tokens give the same random windows, and validation stays fixed", "[data]") {
  const test::TemporaryFolder folder;
  const Tokens tokens = numbered_tokens(1001);
  write_token_file(folder / "tokens.bin", tokens.ids);
  const Corpus corpus = load_corpus({.data = folder / "tokens.bin",
                                     .context_length = 10,
                                     .vocabulary_size = 60'000,
                                     .seed = 5,
                                     .placement = Placement::kRandom},
                                    number_tokenizer());
  const TokenDataset dataset({{tokens.ids.begin(), tokens.ids.begin() + 900}, 60'000, "part"}, 10, Placement::kRandom,
                             5);
  REQUIRE(corpus.training->size() == dataset.size());
  std::vector<std::int64_t> all(static_cast<std::size_t>(dataset.size()));
  std::iota(all.begin(), all.end(), 0);
  for (const std::int64_t epoch : {0, 3}) {
    const Tensor ours = corpus.training->batch_of_epoch(all, epoch).targets;
    const Tensor expected = dataset.batch_of_epoch(all, epoch).targets;
    CHECK(std::ranges::equal(ours.span<std::int32_t>(), expected.span<std::int32_t>()));
  }
  const std::vector<std::int64_t> two{0, 1};
  const Batch validation = corpus.validation->batch_of_epoch(two, 3);
  CHECK(validation.inputs.span<std::int32_t>()[0] == 900);
  CHECK(validation.inputs.span<std::int32_t>()[10] == 910);
}

TEST_CASE("a loader says what it was made from, and can be dealt anew in another way", "[data]") {
  const TokenDataset dataset(numbered_tokens(101), 10);
  RandomSampler sampler(dataset.size(), 2);
  const DataLoader loader(dataset, sampler, {.batch_size = 4, .drop_last = false, .prefetch_batches = 3});
  CHECK(&loader.dataset() == &dataset);
  CHECK(&loader.sampler() == &sampler);
  CHECK(loader.options().batch_size == 4);
  CHECK_FALSE(loader.options().drop_last);
  CHECK(loader.options().prefetch_batches == 3);

  RandomSampler own(loader.dataset().size(), loader.sampler().state().seed);
  DataLoaderOptions options = loader.options();
  options.batch_size = 1;
  DataLoader again(loader.dataset(), own, options);
  DataLoader same(dataset, sampler, {.batch_size = 4, .drop_last = false});
  CHECK(first_tokens(again) == first_tokens(same));
}

TEST_CASE("windows have two names", "[data]") {
  CHECK(parse_placement("fixed") == Placement::kFixed);
  CHECK(parse_placement("random") == Placement::kRandom);
  CHECK_THROWS_AS(parse_placement("any"), FormatError);
}
