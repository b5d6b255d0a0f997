#include "05_gpt_single_device/text_generator.hpp"

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::gpt;

namespace {

nn::GptConfig small_config() {
  nn::GptConfig config;
  config.vocabulary_size = 256;
  config.channels = 16;
  config.head_count = 2;
  config.layer_count = 1;
  config.context_length = 8;
  return config;
}

/// Bytes, of which one ends a text.
class EndingBytes final : public data::Tokenizer {
 public:
  explicit EndingBytes(std::int32_t end) : end_(end) {}
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override { return bytes_->encode(text); }
  [[nodiscard]] std::string decode(std::span<const std::int32_t> ids) const override { return bytes_->decode(ids); }
  [[nodiscard]] std::int32_t vocabulary_size() const noexcept override { return bytes_->vocabulary_size(); }
  [[nodiscard]] std::optional<std::int32_t> end_of_text() const noexcept override { return end_; }
  [[nodiscard]] std::string description() const override { return "bytes with an end"; }

 private:
  std::shared_ptr<const data::Tokenizer> bytes_ = data::byte_tokenizer();
  std::int32_t end_;
};

/// Share of evenly spread random numbers that draws each token.
std::vector<double> shares(const std::vector<float>& logits, const SampleOptions& options) {
  constexpr int kDraws = 10'000;
  std::vector<double> share(logits.size());
  for (int i = 0; i < kDraws; ++i) {
    const float uniform = (static_cast<float>(i) + 0.5F) / kDraws;
    share[static_cast<std::size_t>(draw_token(logits, options, uniform))] += 1.0 / kDraws;
  }
  return share;
}

}  // namespace

TEST_CASE("scores that are not numbers draw no token", "[05]") {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const SampleOptions& options :
       {SampleOptions{}, SampleOptions{.temperature = 0}, SampleOptions{.top_k = 1}, SampleOptions{.top_p = 0.5}}) {
    const auto draw = [&](const std::vector<float>& logits) { return draw_token(logits, options, 0.3F); };
    CHECK_THROWS_WITH(draw({1, infinity, 2}), ContainsSubstring("the score of token 1 is infinite"));
    CHECK_THROWS_WITH(draw({1, 2, nan}), ContainsSubstring("the score of token 2 is not a number"));
    CHECK_THROWS_WITH(draw({nan, infinity}), ContainsSubstring("the score of token 0 is not a number"));
    CHECK_THROWS_WITH(draw({-infinity, -infinity}), ContainsSubstring("minus infinity, like all others"));
    CHECK(draw({-infinity, 2, -infinity}) == 1);  // a mask
  }
}

TEST_CASE("tokens are drawn as often as softmax says", "[05]") {
  const std::vector<float> logits{0.5F, -1.0F, 2.0F, 1.0F};
  const double temperature = 0.7;
  const std::vector<double> share = shares(logits, {.temperature = temperature, .top_k = 0});
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit / temperature);
  // Each boundary between two tokens falls between two of 10000 draws: at most one draw off on either side.
  for (std::size_t i = 0; i < logits.size(); ++i) {
    CHECK(std::abs(share[i] - std::exp(logits[i] / temperature) / sum) <= 2.1e-4);
  }
}

TEST_CASE("top_k draws only from the likeliest tokens, ties by number", "[05]") {
  const std::vector<double> two = shares({0.5F, -1.0F, 2.0F, 1.0F}, {.temperature = 1, .top_k = 2});
  CHECK(two[0] == 0);
  CHECK(two[1] == 0);
  CHECK(two[2] > two[3]);
  CHECK(shares({1.0F, 1.0F, 1.0F}, {.temperature = 1, .top_k = 1})[0] > 0.999);
  CHECK(shares({1.0F, 2.0F}, {.temperature = 1, .top_k = 9})[0] > 0);
}

TEST_CASE("top_p draws only from the fewest tokens that have the share, after top_k", "[05]") {
  // Probabilities 0.5, 0.25, 0.125, 0.125 at temperature 1.
  const std::vector<float> logits{std::log(0.125F), std::log(0.5F), std::log(0.125F), std::log(0.25F)};
  using Shares = std::vector<double>;
  const auto is_near = [](const Shares& found, const Shares& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (std::abs(found[i] - expected[i]) > 2.1e-4) return false;  // one draw off at either end, of 10000
    }
    return true;
  };
  CHECK(is_near(shares(logits, {.temperature = 1, .top_k = 0, .top_p = 1}), {0.125, 0.5, 0.125, 0.25}));
  CHECK(is_near(shares(logits, {.temperature = 1, .top_k = 0, .top_p = 0.8}), {1 / 7.0, 4 / 7.0, 0, 2 / 7.0}));
  CHECK(is_near(shares(logits, {.temperature = 1, .top_k = 0, .top_p = 0.7}), {0, 2 / 3.0, 0, 1 / 3.0}));
  CHECK(is_near(shares(logits, {.temperature = 1, .top_k = 0, .top_p = 0.4}), {0, 1, 0, 0}));
  CHECK(is_near(shares(logits, {.temperature = 1, .top_k = 0, .top_p = 1e-9}), {0, 1, 0, 0}));
  // Of the two likeliest, 2/3 and 1/3, the first has the share; of all four it would take both.
  CHECK(is_near(shares(logits, {.temperature = 1, .top_k = 2, .top_p = 0.6}), {0, 1, 0, 0}));
  CHECK(is_near(shares(logits, {.temperature = 1, .top_k = 0, .top_p = 0.6}), {0, 2 / 3.0, 0, 1 / 3.0}));
}

TEST_CASE("temperature 0 takes the likeliest token, whatever the random number", "[05]") {
  CHECK(shares({0.5F, -1.0F, 2.0F, 1.9F}, {.temperature = 0})[2] > 0.999);
}

TEST_CASE("extreme scores neither overflow nor lose the last token", "[05]") {
  CHECK(draw_token(std::vector<float>{1e30F, -1e30F}, {}, 0.999999F) == 0);
  CHECK(draw_token(std::vector<float>{-3e38F}, {}, 0.5F) == 0);
  CHECK(draw_token(std::vector<float>{0.0F, 0.0F}, {}, 0.99999994F) == 1);
}

TEST_CASE("options that mean nothing are refused", "[05]") {
  CHECK_THROWS_AS(draw_token({}, {}, 0.0F), ContractError);
  CHECK_THROWS_AS(draw_token(std::vector<float>{1.0F}, {.temperature = -1}, 0.0F), ContractError);
  CHECK_THROWS_AS(draw_token(std::vector<float>{1.0F}, {.top_p = 0}, 0.0F), ContractError);
  CHECK_THROWS_AS(draw_token(std::vector<float>{1.0F}, {.top_p = 1.1}, 0.0F), ContractError);
  CHECK_THROWS_AS(generate_tokens(nn::Gpt(small_config(), 1), {}, {}), ContractError);
}

TEST_CASE("generation repeats for a seed, keeps the prompt, and goes on beyond the context", "[05]") {
  const nn::Gpt model(small_config(), 1);
  const auto bytes = data::byte_tokenizer();
  const std::string prompt = "a prompt longer than the context";
  const std::string text = generate_text(model, *bytes, prompt, {.token_count = 20, .seed = 3});
  CHECK(text.size() == prompt.size() + 20);
  CHECK(text.starts_with(prompt));
  CHECK(generate_text(model, *bytes, prompt, {.token_count = 20, .seed = 3}) == text);
  CHECK(generate_text(model, *bytes, prompt, {.token_count = 20, .seed = 4}) != text);
  CHECK(generate_text(model, *bytes, "", {.token_count = 5}).size() == 6);
}

TEST_CASE("a text ends where the model draws the end token, which is no part of it", "[05]") {
  const nn::Gpt model(small_config(), 1);
  const std::string prompt = "once";
  const SampleOptions options{.token_count = 20, .seed = 3};
  const std::string whole = generate_text(model, *data::byte_tokenizer(), prompt, options);
  const char end = whole[prompt.size() + 7];
  const EndingBytes tokenizer(static_cast<unsigned char>(end));
  CHECK(generate_text(model, tokenizer, prompt, options) == whole.substr(0, whole.find(end, prompt.size())));
  SampleOptions ignoring = options;
  ignoring.ignores_end = true;
  CHECK(generate_text(model, tokenizer, prompt, ignoring) == whole);
  CHECK(generate_text(model, tokenizer, std::string(1, end) + prompt, options).starts_with(end));  // it may be given
}

TEST_CASE("the model's last position decides: generation equals drawing by hand", "[05]") {
  const nn::Gpt model(small_config(), 2);
  const std::vector<std::int32_t> tokens = generate_tokens(model, {10, 20}, {.token_count = 2, .temperature = 0});
  REQUIRE(tokens.size() == 4);
  const std::vector<std::int32_t> first_three(tokens.begin(), tokens.begin() + 3);
  const Tensor inputs = Tensor::from(std::span<const std::int32_t>(first_three), {1, 3});
  const autograd::Variable all = model.logits(inputs);  // [1, 3, 256]
  const std::span<const float> scores = all.value().span<float>();
  CHECK(draw_token(scores.subspan(256, 256), {.temperature = 0}, 0) == tokens[2]);
  CHECK(draw_token(scores.subspan(512, 256), {.temperature = 0}, 0) == tokens[3]);
}

TEST_CASE("the window is full text, then loses its oldest quarter whenever it is full", "[05]") {
  const nn::Gpt model(small_config(), 2);  // 8 positions
  std::vector<std::int32_t> expected{5, 6, 7};
  std::size_t first = 0;
  while (expected.size() < 40) {
    if (expected.size() - first > 8) first = expected.size() - 6;
    const auto window = std::span<const std::int32_t>(expected).subspan(first);
    const Tensor inputs = Tensor::from(window, {1, static_cast<std::int64_t>(window.size())});
    const autograd::Variable scores = model.logits(inputs, nn::Gpt::Positions::kLast);
    expected.push_back(draw_token(scores.value().span<float>(), {.temperature = 0}, 0));
  }
  CHECK(generate_tokens(model, {5, 6, 7}, {.token_count = 37, .temperature = 0}) == expected);
}

// Scores differ by some roundings (tests/train/nn/key_value_cache_test.cpp); the closest two of the texts below are
// much further apart. Weights that are all larger make texts that do not repeat one token.
TEST_CASE("a text is the same with and without kept keys and values, whatever draws it", "[05]") {
  nn::GptConfig config = small_config();
  config.layer_count = 3;
  config.context_length = 32;
  const nn::Gpt model(config, 7);
  for (const auto& parameter : model.parameters()) {
    if (parameter.value().shape().rank() != 2) continue;
    for (float& value : parameter.value().span<float>()) value *= 10;
  }
  const std::vector<SampleOptions> ways = {{.temperature = 0},
                                           {.temperature = 1, .top_k = 0, .seed = 5},
                                           {.temperature = 0.7, .top_k = 20, .top_p = 0.9, .seed = 6}};
  for (SampleOptions options : ways) {
    options.token_count = 100;
    const auto cached = generate_tokens(model, {1, 2, 3}, options);
    options.cache = CacheUse::kNever;
    CHECK(generate_tokens(model, {1, 2, 3}, options) == cached);
    CHECK(std::set<std::int32_t>(cached.begin(), cached.end()).size() > 5);
  }
}
