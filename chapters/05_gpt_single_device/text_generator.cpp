#include "05_gpt_single_device/text_generator.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/philox.hpp"

namespace lockstep::gpt {
namespace {

// The likeliest tokens first, at most `count` of them (0: all).
std::vector<std::int32_t> likeliest(std::span<const float> logits, int count) {
  std::vector<std::int32_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto is_likelier = [&](std::int32_t a, std::int32_t b) {
    const float logit_a = logits[static_cast<std::size_t>(a)], logit_b = logits[static_cast<std::size_t>(b)];
    return logit_a != logit_b ? logit_a > logit_b : a < b;  // ties by number, so that results repeat
  };
  const std::size_t kept = count == 0 ? tokens.size() : std::min(tokens.size(), static_cast<std::size_t>(count));
  std::partial_sort(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(kept), tokens.end(), is_likelier);
  tokens.resize(kept);
  return tokens;
}

// One number in [0, 1) per position, whatever else is drawn.
float uniform_at(std::uint64_t seed, std::size_t position) {
  constexpr std::uint64_t kStream = 0x67656e65726174;  // keeps these numbers apart from those of dropout
  return uniform_float(philox4x32(seed, kStream, position)[0]);
}

std::size_t drawn_ids_of(const nn::Gpt& model, const SampleOptions& options) {
  const std::int64_t known = model.config().vocabulary_size;
  return static_cast<std::size_t>(options.vocabulary_size == 0 ? known : std::min(known, options.vocabulary_size));
}

}  // namespace

std::int32_t draw_token(std::span<const float> logits, const SampleOptions& options, float uniform) {
  require(!logits.empty(), "draw_token: no logits");
  require(options.temperature >= 0 && options.top_k >= 0, "draw_token: temperature ", options.temperature,
          " and top_k ", options.top_k, " must not be negative");
  const std::vector<std::int32_t> tokens = likeliest(logits, options.temperature == 0 ? 1 : options.top_k);
  if (tokens.size() == 1) return tokens.front();

  const double highest = logits[static_cast<std::size_t>(tokens.front())];
  std::vector<double> cumulative(tokens.size());  // of exp((logit - highest) / temperature): the largest term is 1
  double sum = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    sum += std::exp((logits[static_cast<std::size_t>(tokens[i])] - highest) / options.temperature);
    cumulative[i] = sum;
  }
  const auto drawn = std::upper_bound(cumulative.begin(), cumulative.end() - 1, uniform * sum);
  return tokens[static_cast<std::size_t>(drawn - cumulative.begin())];
}

std::vector<std::int32_t> generate_tokens(const nn::Gpt& model, std::vector<std::int32_t> tokens,
                                          const SampleOptions& options) {
  require(!tokens.empty(), "generate_tokens: the prompt is empty");
  const autograd::NoGradGuard no_grad;
  const auto context_length = static_cast<std::size_t>(model.config().context_length);
  const std::size_t drawn_ids = drawn_ids_of(model, options);
  for (std::int64_t i = 0; i < options.token_count; ++i) {
    const std::size_t seen = std::min(tokens.size(), context_length);
    const std::span<const std::int32_t> window = std::span(tokens).last(seen);
    const Tensor inputs = Tensor::from(window, {1, static_cast<std::int64_t>(seen)});   // [1, T]
    const autograd::Variable logits = model.logits(inputs, nn::Gpt::Positions::kLast);  // [1, V]
    const Tensor on_host = logits.value().to(Device{});
    const std::span<const float> scores = on_host.span<float>();
    tokens.push_back(draw_token(scores.first(drawn_ids), options, uniform_at(options.seed, tokens.size())));
  }
  return tokens;
}

std::string generate_text(const nn::Gpt& model, const data::Tokenizer& tokenizer, const std::string& prompt,
                          const SampleOptions& options) {
  std::vector<std::int32_t> tokens = tokenizer.encode(prompt);
  if (tokens.empty()) tokens = tokenizer.encode("\n");
  if (tokens.empty()) tokens = {0};
  const std::int64_t vocabulary_size = model.config().vocabulary_size;
  for (const std::int32_t token : tokens) {
    if (token < vocabulary_size) continue;
    throw FormatError(concat("the prompt has the token ", token, ", but the model's vocabulary has ", vocabulary_size));
  }
  SampleOptions limited = options;
  limited.vocabulary_size = tokenizer.vocabulary_size();
  return tokenizer.decode(generate_tokens(model, std::move(tokens), limited));
}

}  // namespace lockstep::gpt
