#include "05_gpt_single_device/text_generator.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "nn/key_value_cache.hpp"

namespace lockstep::gpt {
namespace {

// The likeliest tokens first, at most `count` of them (0: all).
std::vector<std::int32_t> likeliest(std::span<const float> logits, int count) {
  std::vector<std::int32_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto is_likelier = [&](std::int32_t a, std::int32_t b) {
    const float logit_a = logits[static_cast<std::size_t>(a)], logit_b = logits[static_cast<std::size_t>(b)];
    return logit_a != logit_b ? logit_a > logit_b : a < b;  // ties by token id, so that results repeat
  };
  const std::size_t kept = count == 0 ? tokens.size() : std::min(tokens.size(), static_cast<std::size_t>(count));
  if (kept < tokens.size()) {
    std::nth_element(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(kept), tokens.end(), is_likelier);
    tokens.resize(kept);
  }
  std::sort(tokens.begin(), tokens.end(), is_likelier);
  return tokens;
}

// NaN cannot be sorted, and an infinite logit makes every probability NaN, so that the last token would be drawn.
void require_usable(std::span<const float> logits) {
  const auto bad = std::ranges::find_if(logits, [](float logit) { return std::isnan(logit) || logit == INFINITY; });
  const bool has_one = std::ranges::any_of(logits, [](float logit) { return std::isfinite(logit); });
  if (bad == logits.end() && has_one) return;
  const char* const what = bad == logits.end() ? "minus infinity, like all others"
                           : std::isnan(*bad)  ? "not a number"
                                               : "infinite";
  throw Error(concat("no token can be drawn: the score of token ", bad == logits.end() ? 0 : bad - logits.begin(),
                     " is ", what, "; the model's weights have diverged, or are damaged"));
}

// One number in [0, 1) per position, independent of other draws.
float uniform_at(std::uint64_t seed, std::size_t position) {
  constexpr std::uint64_t kStream = 0x67656e65726174;  // keeps these numbers apart from those of dropout
  return uniform_float(philox4x32(seed, kStream, position)[0]);
}

std::size_t drawn_ids_of(const nn::Gpt& model, const SampleOptions& options) {
  const std::int64_t known = model.config().vocabulary_size;
  return static_cast<std::size_t>(options.vocabulary_size == 0 ? known : std::min(known, options.vocabulary_size));
}

// The model's view of a growing text, and its predictions. The window depends only on the text's length, so that the
// cache never changes the text.
class Window {
 public:
  Window(const nn::Gpt& model, CacheUse use) : model_(model), context_(to_size(model.config().context_length)) {
    if (use == CacheUse::kAuto && model.device().is_cpu()) cache_.emplace(model.config());
  }

  /// Scores of the token that follows `tokens`, [V] on the host. Each call extends the tokens of the previous one.
  [[nodiscard]] Tensor next_scores(std::span<const std::int32_t> tokens) {
    if (tokens.size() - first_ > context_) {  // the oldest tokens leave the window
      first_ = tokens.size() - (context_ - context_ / 4);
      seen_ = first_;
      if (cache_) cache_->clear();
    }
    const std::span<const std::int32_t> inputs = tokens.subspan(cache_ ? seen_ : first_);
    seen_ = tokens.size();
    const Tensor batch = Tensor::from(inputs, {1, static_cast<std::int64_t>(inputs.size())});  // [1, N]
    const autograd::Variable scores =
        cache_ ? model_.logits(batch, *cache_) : model_.logits(batch, nn::Gpt::Positions::kLast);  // [1, V]
    return scores.value().to(Device{});
  }

 private:
  static std::size_t to_size(std::int64_t count) { return static_cast<std::size_t>(count); }

  const nn::Gpt& model_;
  std::size_t context_;
  std::size_t first_ = 0;  // the window's first position in the text
  std::size_t seen_ = 0;   // tokens of the text that the cache has seen
  std::optional<nn::KeyValueCache> cache_;
};

// How many of the likeliest tokens together reach the share `top_p` of the probability. @param cumulative  Not empty.
std::size_t nucleus(std::span<const double> cumulative, double top_p) {
  const auto last = std::lower_bound(cumulative.begin(), cumulative.end() - 1, top_p * cumulative.back());
  return static_cast<std::size_t>(last - cumulative.begin()) + 1;  // + 1: includes the token that reaches the share
}

}  // namespace

std::int32_t draw_token(std::span<const float> logits, const SampleOptions& options, float uniform) {
  require(!logits.empty(), "draw_token: no logits");
  require(options.temperature >= 0 && options.top_k >= 0, "draw_token: temperature ", options.temperature,
          " and top_k ", options.top_k, " must not be negative");
  require(options.top_p > 0 && options.top_p <= 1, "draw_token: top_p ", options.top_p, " is not in (0, 1]");
  require_usable(logits);
  const std::vector<std::int32_t> tokens = likeliest(logits, options.temperature == 0 ? 1 : options.top_k);
  if (tokens.size() == 1) return tokens.front();

  const double highest = logits[static_cast<std::size_t>(tokens.front())];
  std::vector<double> cumulative(tokens.size());  // of exp((logit - highest) / temperature): the largest term is 1
  double sum = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    sum += std::exp((logits[static_cast<std::size_t>(tokens[i])] - highest) / options.temperature);
    cumulative[i] = sum;
  }
  if (options.top_p < 1) cumulative.resize(nucleus(cumulative, options.top_p));
  const auto drawn = std::upper_bound(cumulative.begin(), cumulative.end() - 1, uniform * cumulative.back());
  return tokens[static_cast<std::size_t>(drawn - cumulative.begin())];
}

std::vector<std::int32_t> generate_tokens(const nn::Gpt& model, std::vector<std::int32_t> tokens,
                                          const SampleOptions& options) {
  require(!tokens.empty(), "generate_tokens: the prompt is empty");
  const autograd::NoGradGuard no_grad;
  const std::size_t drawn_ids = drawn_ids_of(model, options);
  Window window(model, options.cache);
  for (std::int64_t i = 0; i < options.token_count; ++i) {
    const Tensor next = window.next_scores(tokens);  // [1, V]
    const std::span<const float> scores = next.span<float>();
    const std::int32_t drawn = draw_token(scores.first(drawn_ids), options, uniform_at(options.seed, tokens.size()));
    if (drawn == options.end_token) break;
    tokens.push_back(drawn);
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
  if (!options.ignores_end && !options.end_token) limited.end_token = tokenizer.end_of_text();
  return tokenizer.decode(generate_tokens(model, std::move(tokens), limited));
}

}  // namespace lockstep::gpt
