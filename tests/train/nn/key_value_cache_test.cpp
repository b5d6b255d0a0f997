#include "nn/key_value_cache.hpp"

#include <cmath>
#include <numeric>

#include "autograd/gradient_check.hpp"
#include "base/error.hpp"
#include "nn/gpt_parameters.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using lockstep::test::random_tokens;

namespace {

// Larger initial weights than GPT-2's would make attention sharper; these give scores of magnitude up to about 1.
nn::GptConfig config_of(std::int64_t context_length = 24) { return {"test", 97, 40, 5, 3, context_length}; }

/// Columns [begin, end) of tokens [B, T].
Tensor columns(const Tensor& tokens, std::int64_t begin, std::int64_t end) {
  const std::int64_t samples = tokens.shape()[0], length = tokens.shape()[1];
  std::vector<std::int32_t> part;
  for (std::int64_t b = 0; b < samples; ++b) {
    const auto row = tokens.span<std::int32_t>().subspan(static_cast<std::size_t>(b * length));
    part.insert(part.end(), row.begin() + begin, row.begin() + end);
  }
  return Tensor::from<std::int32_t>(part, {samples, end - begin});
}

template <typename T>
double largest_difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  double largest = 0;
  for (std::size_t i = 0; i < a.span<T>().size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a.span<T>()[i]) - static_cast<double>(b.span<T>()[i])));
  }
  return largest;
}

/// The largest difference between scores of a text that grows by `parts` and those of the whole text so far.
template <typename T>
double mismatch(const nn::Gpt& model, std::int64_t samples, const std::vector<std::int64_t>& parts) {
  const std::int64_t length = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  const Tensor tokens = random_tokens({samples, length}, 97, 5);
  nn::KeyValueCache cache(model.config(), samples, dtype_of<T>);
  double largest = 0;
  std::int64_t end = 0;
  for (const std::int64_t count : parts) {
    const auto scores = model.logits(columns(tokens, end, end + count), cache);
    end += count;
    const auto expected = model.logits(columns(tokens, 0, end), nn::Gpt::Positions::kLast);
    largest = std::max(largest, largest_difference<T>(scores.value(), expected.value()));
  }
  CHECK(cache.length() == length);
  return largest;
}

}  // namespace

// Both ways do the same additions in another order. A score is a sum of C products; through a block go sums of at most
// 4C products (c_proj of the MLP) and of T weighted values. Each such sum of n terms of magnitude m differs by at most
// about n m roundoffs, the norms keep magnitudes near 1 on the way, and there are four sums in each of the 3 blocks, so
// with magnitudes up to 4: 4 * (4 * 3 + 1) * 4C roundoffs.
TEMPLATE_TEST_CASE("a text that grows gets the scores of the whole text", "[nn]", float, double) {
  const nn::Gpt model(config_of(), {3, dtype_of<TestType>});
  const double roundoff = std::is_same_v<TestType, float> ? 0x1p-24 : 0x1p-53;
  const double bound = 4 * (4 * 3 + 1) * 4 * 40 * roundoff;
  CHECK(mismatch<TestType>(model, 1, {5, 1, 1, 1, 10, 1}) <= bound);
  CHECK(mismatch<TestType>(model, 3, {1, 1, 22}) <= bound);
  CHECK(mismatch<TestType>(model, 2, std::vector<std::int64_t>(24, 1)) <= bound);
  CHECK(mismatch<TestType>(model, 2, {24}) == 0);  // an empty cache: the same operations
}

TEST_CASE("other keys and values would be noticed: another first token changes later scores", "[nn]") {
  const nn::Gpt model(config_of(), 3);
  nn::KeyValueCache cache(model.config());
  const std::vector<std::int32_t> first{1, 2, 3}, other{9, 2, 3}, next{4};
  (void)model.logits(Tensor::from<std::int32_t>(other, {1, 3}), cache);
  cache.clear();
  CHECK(cache.length() == 0);
  (void)model.logits(Tensor::from<std::int32_t>(first, {1, 3}), cache);
  const auto after_first = model.logits(Tensor::from<std::int32_t>(next, {1, 1}), cache);
  cache.clear();
  (void)model.logits(Tensor::from<std::int32_t>(other, {1, 3}), cache);
  const auto after_other = model.logits(Tensor::from<std::int32_t>(next, {1, 1}), cache);
  CHECK(largest_difference<float>(after_first.value(), after_other.value()) > 1e-4);
}

TEST_CASE("all new positions have scores if they are asked for", "[nn]") {
  const nn::Gpt model(config_of(), 3);
  const Tensor tokens = random_tokens({2, 9}, 97, 5);
  nn::KeyValueCache cache(model.config(), 2);
  (void)model.logits(columns(tokens, 0, 4), cache);
  const auto scores = model.logits(columns(tokens, 4, 9), cache, nn::Gpt::Positions::kAll);
  const auto whole = model.logits(tokens);
  const Tensor flat = whole.value().reshape({18, 97}), found = scores.value().reshape({10, 97});
  for (std::int64_t b = 0; b < 2; ++b) {
    const double difference = largest_difference<float>(found.rows(b * 5, b * 5 + 5), flat.rows(b * 9 + 4, b * 9 + 9));
    CHECK(difference <= 4 * (4 * 3 + 1) * 4 * 40 * 0x1p-24);
  }
}

TEST_CASE("a cache refuses what has no room and what it was not made for", "[nn]") {
  const nn::Gpt model(config_of(), 3);
  nn::KeyValueCache cache(model.config());
  (void)model.logits(random_tokens({1, 20}, 97, 5), cache);
  CHECK_THROWS_WITH(model.logits(random_tokens({1, 5}, 97, 5), cache), ContainsSubstring("T <= 4"));
  CHECK(cache.length() == 20);
  CHECK_THROWS_AS(model.logits(random_tokens({2, 1}, 97, 5), cache), ContractError);
  nn::KeyValueCache other(config_of(12));
  CHECK_THROWS_WITH(model.logits(random_tokens({1, 5}, 97, 5), other), ContainsSubstring("made for another model"));
  CHECK_THROWS_AS(nn::KeyValueCache(config_of(), 0), ContractError);
}

TEST_CASE("the parameters of a GPT are known without making it", "[nn]") {
  const nn::Gpt model(config_of(), 1);
  const auto expected = model.named_parameters();
  const auto parameters = nn::gpt_parameters(model.config());
  REQUIRE(parameters.size() == expected.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    CHECK(parameters[i].name == expected[i].name);
    CHECK(parameters[i].shape == expected[i].parameter.value().shape());
  }
  CHECK(nn::gpt_parameter_count(model.config()) == model.parameter_count());
  CHECK_THROWS_AS(nn::gpt_parameters({"test", 97, 40, 3, 3, 24}), ContractError);
}

TEST_CASE("GPT-2's published sizes have their published numbers of parameters", "[nn]") {
  const auto count = [](std::int64_t channels, std::int64_t heads, std::int64_t layers) {
    return nn::gpt_parameter_count({"gpt2", 50257, channels, heads, layers, 1024});
  };
  // sum(p.numel() for p in GPT2LMHeadModel.from_pretrained(name).parameters()): gpt2, -medium, -large, -xl
  CHECK(count(768, 12, 12) == 124'439'808);
  CHECK(count(1024, 16, 24) == 354'823'168);
  CHECK(count(1280, 20, 36) == 774'030'080);
  CHECK(count(1600, 25, 48) == 1'557'611'200);
}
