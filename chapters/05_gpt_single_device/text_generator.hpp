#pragma once
/// @file
/// Letting a trained model write: one token at a time, each drawn from the model's own prediction.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/tokenizer.hpp"
#include "nn/gpt.hpp"

namespace lockstep::gpt {

/// Whether the keys and values of earlier positions are kept while a text grows.
enum class CacheUse {
  kAuto,  ///< On the CPU; devices compute the whole window for each token.
  kNever  ///< The whole window for each token: slow, and what the cache is compared with.
};

/// How tokens are drawn.
struct SampleOptions {
  std::int64_t token_count = 300;    ///< How many are written after the prompt, at most.
  double temperature = 0.8;          ///< Below 1 likely tokens become likelier still; 0 always takes the likeliest.
  int top_k = 40;                    ///< Only the k likeliest tokens are drawn; 0 allows all.
  double top_p = 1;                  ///< Only the fewest likeliest tokens that have this probability together; 1: all.
  std::uint64_t seed = 1;            ///< Of the random draws: equal seeds give equal text.
  std::int64_t vocabulary_size = 0;  ///< Only ids below this are drawn, where the model has more; 0: all.
  CacheUse cache = CacheUse::kAuto;  ///< Of no influence on the text, but for ties that rounding decides.
  /// Drawing this token ends the text, and it is no part of the text. generate_text() takes the tokenizer's.
  std::optional<std::int32_t> end_token = std::nullopt;
  bool ignores_end = false;  ///< generate_text(): write on, and keep the token.
};

/// Draws one token from softmax(logits / temperature), limited to the top_k likeliest and, of these, to the top_p that
/// hold that share of their probability (at least one).
/// @param logits   [V], not empty; negative infinity: a token that is never drawn.
/// @param uniform  The random number, in [0, 1).
/// @return         Index into `logits`. Equal inputs give equal tokens.
/// @throws ContractError  No logits, a negative temperature or top_k, a top_p that is not in (0, 1].
/// @throws Error          A logit is NaN or infinite, or all are negative infinity: names the first, for there is no
///                        probability to draw by.
/// @source  top_k: Fan, Lewis and Dauphin, "Hierarchical Neural Story Generation", ACL 2018, section 5.3; top_p:
///          Holtzman et al., "The Curious Case of Neural Text Degeneration", ICLR 2020, section 3.1.
[[nodiscard]] std::int32_t draw_token(std::span<const float> logits, const SampleOptions& options, float uniform);

/// Continues `prompt` token by token. The model sees a window of at most its context length: where that is full, the
/// oldest quarter falls out of sight, and the window grows again.
/// @param prompt  Token ids, not empty.
/// @return        The prompt and what follows it: the same for equal arguments.
/// @cost  With the cache a forward pass over the prompt, then one over a single position per token, and one over three
///        quarters of the context T whenever the window moves; without it a pass over the window per token.
[[nodiscard]] std::vector<std::int32_t> generate_tokens(const nn::Gpt& model, std::vector<std::int32_t> prompt,
                                                        const SampleOptions& options);

/// As generate_tokens() for text. Ids that the tokenizer does not have are never drawn. A prompt without a token
/// becomes a line feed, or token 0 where a line feed is none.
/// @param tokenizer  Which the model was trained with.
/// @throws FormatError  The tokenizer cannot express the prompt, or it has a token that the model does not have.
[[nodiscard]] std::string generate_text(const nn::Gpt& model, const data::Tokenizer& tokenizer,
                                        const std::string& prompt, const SampleOptions& options);

}  // namespace lockstep::gpt
