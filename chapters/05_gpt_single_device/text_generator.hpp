#pragma once
/// @file
/// Text generation with a trained model: one token at a time, each drawn from the model's prediction.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/tokenizer.hpp"
#include "nn/gpt.hpp"

namespace lockstep::gpt {

/// Whether to keep the keys and values of earlier positions while a text grows.
enum class CacheUse {
  kAuto,  ///< Yes on the CPU; devices compute the whole window for each token.
  kNever  ///< Compute the whole window for each token: slow; the reference for the cache.
};

/// How to draw tokens.
struct SampleOptions {
  std::int64_t token_count = 300;  ///< Most tokens to write after the prompt.
  double temperature = 0.8;        ///< Below 1 likely tokens become likelier still; 0 always takes the likeliest.
  int top_k = 40;                  ///< Draw only from the k likeliest tokens; 0 allows all.
  double top_p = 1;        ///< Draw only from the fewest likeliest tokens with this probability together; 1: all.
  std::uint64_t seed = 1;  ///< Equal seeds give equal text.
  std::int64_t vocabulary_size = 0;  ///< Draw only ids below this, if the model has more; 0: all.
  CacheUse cache = CacheUse::kAuto;  ///< Does not affect the text, except for ties decided by rounding.
  /// Drawing this token ends the text, without the token. generate_text() uses the tokenizer's.
  std::optional<std::int32_t> end_token = std::nullopt;
  bool ignores_end = false;  ///< generate_text(): keep the token and go on.
};

/// Draws one token from softmax(logits / temperature), limited to the top_k likeliest and, of these, to the fewest that
/// hold the share top_p of their probability (at least one).
/// @param logits   [V], not empty; negative infinity: never drawn.
/// @param uniform  The random number, in [0, 1).
/// @return         Index into `logits`. Equal inputs give equal tokens.
/// @throws ContractError  No logits, a negative temperature or top_k, a top_p that is not in (0, 1].
/// @throws Error          A logit is NaN or infinite, or all are negative infinity, so that there are no probabilities;
///                        names the first.
/// @source  top_k: Fan, Lewis and Dauphin, "Hierarchical Neural Story Generation", ACL 2018, section 5.3; top_p:
///          Holtzman et al., "The Curious Case of Neural Text Degeneration", ICLR 2020, section 3.1.
[[nodiscard]] std::int32_t draw_token(std::span<const float> logits, const SampleOptions& options, float uniform);

/// Continues `prompt` token by token. The model sees a window of at most its context length: when it is full, the
/// oldest quarter is dropped, and the window grows again.
/// @param prompt  Token ids, not empty.
/// @return        The prompt and its continuation: the same for equal arguments.
/// @cost  With the cache a forward pass over the prompt, then one over a single position per token, and one over three
///        quarters of the context T whenever the window moves; without it a pass over the window per token.
[[nodiscard]] std::vector<std::int32_t> generate_tokens(const nn::Gpt& model, std::vector<std::int32_t> prompt,
                                                        const SampleOptions& options);

/// As generate_tokens() for text. Ids that the tokenizer does not have are never drawn. An empty prompt becomes a line
/// feed, or token 0 if the tokenizer has no line feed.
/// @param tokenizer  The one that the model was trained with.
/// @throws FormatError  The tokenizer cannot encode the prompt, or the prompt has a token that the model lacks.
[[nodiscard]] std::string generate_text(const nn::Gpt& model, const data::Tokenizer& tokenizer,
                                        const std::string& prompt, const SampleOptions& options);

}  // namespace lockstep::gpt
