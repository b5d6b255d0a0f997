#include "05_gpt_single_device/perplexity.hpp"

#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::gpt;

namespace {

constexpr std::int64_t kVocabulary = 50;

nn::Gpt small_model() { return {{"test", kVocabulary, 16, 2, 2, 12}, 3}; }

std::vector<std::int32_t> random_text(std::size_t count) {
  std::vector<std::int32_t> tokens;
  PhiloxSequence words(8);
  for (std::size_t i = 0; i < count; ++i) tokens.push_back(static_cast<std::int32_t>(words.next_below(kVocabulary)));
  return tokens;
}

/// -log p(tokens[at] | tokens[begin, at)), from the scores of one text and in double precision.
double surprise(const nn::Gpt& model, const std::vector<std::int32_t>& tokens, std::int64_t begin, std::int64_t at) {
  const auto seen = std::span(tokens).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(at - begin));
  const Tensor inputs = Tensor::from<std::int32_t>(seen, {1, at - begin});
  const autograd::Variable logits = model.logits(inputs, nn::Gpt::Positions::kLast);
  const auto scores = logits.value().span<float>();
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score));
  const auto token = static_cast<std::size_t>(tokens[static_cast<std::size_t>(at)]);
  return std::log(sum) - static_cast<double>(scores[token]);
}

/// The definition, token by token: the window of token t is the first one that has it.
double direct_sum(const nn::Gpt& model, const std::vector<std::int32_t>& tokens, std::int64_t length,
                  std::int64_t stride) {
  double sum = 0;
  for (std::int64_t t = 1; t < std::ssize(tokens); ++t) {
    std::int64_t begin = 0;
    while (t >= begin + length) begin += stride;
    sum += surprise(model, tokens, begin, t);
  }
  return sum;
}

}  // namespace

// A score has some hundred roundings of 2^-24 (tests/train/nn), and so has each of the about 4 nats per token.
TEST_CASE("a text's loss in windows is that of each token after what stands before it in its window", "[05]") {
  const nn::Gpt model = small_model();
  for (const std::size_t count : {2, 11, 12, 13, 30, 64, 400}) {
    const auto tokens = random_text(count);
    for (const WindowOptions& options : {WindowOptions{12, 6}, {12, 1}, {12, 11}, {5, 2}, {2, 1}}) {
      const TextLoss loss = text_loss(model, tokens, options);
      INFO(count << " tokens, windows of " << options.length << ", stride " << options.stride);
      CHECK(loss.token_count == static_cast<std::int64_t>(count) - 1);  // each counted once
      const double expected = direct_sum(model, tokens, options.length, options.stride);
      CHECK(std::abs(loss.sum - expected) <= 4 * 500 * 0x1p-24 * static_cast<double>(count));
    }
  }
}

TEST_CASE("windows are the whole context, half of it apart, where nobody says otherwise", "[05]") {
  const nn::Gpt model = small_model();
  const auto tokens = random_text(40);
  CHECK(text_loss(model, tokens).sum == text_loss(model, tokens, {12, 6}).sum);
  CHECK(text_loss(model, tokens, {.length = 9}).sum == text_loss(model, tokens, {9, 4}).sum);
  CHECK(text_loss(model, tokens).sum != text_loss(model, tokens, {12, 1}).sum);
}

TEST_CASE("perplexity is the exponential of the mean loss: an untrained model is near its vocabulary's size", "[05]") {
  const TextLoss loss = text_loss(small_model(), random_text(500));
  CHECK(loss.mean() == Approx(loss.sum / 499));
  CHECK(loss.perplexity() == Approx(std::exp(loss.mean())));
  CHECK(loss.perplexity() == Approx(kVocabulary).epsilon(0.05));
}

TEST_CASE("windows that leave tokens out are refused", "[05]") {
  const nn::Gpt model = small_model();
  const auto tokens = random_text(40);
  CHECK_THROWS_AS(text_loss(model, random_text(1)), ContractError);
  CHECK_THROWS_WITH(text_loss(model, tokens, {12, 12}), ContainsSubstring("a stride of 12 tokens, not 1 to 11"));
  CHECK_THROWS_WITH(text_loss(model, tokens, {13, 1}), ContainsSubstring("windows of 13 tokens, not 2 to 12"));
  CHECK_THROWS_AS(text_loss(model, tokens, {1, 1}), ContractError);
  CHECK_THROWS_AS(text_loss(model, tokens, {12, -1}), ContractError);
}
