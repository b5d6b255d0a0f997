#include "05_gpt_single_device/text_generator.hpp"

#include <cmath>
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
