#pragma once
/// @file
/// How well a model predicts a text longer than its context.
#include <cstdint>
#include <span>

#include "nn/gpt.hpp"

namespace lockstep::gpt {

/// How to cut a long text into windows. The model sees one window at once; the next one begins `stride` tokens later. A
/// small stride gives each token more context, and costs more windows.
struct WindowOptions {
  std::int64_t length = 0;  ///< Tokens of a window, 2 to the context length; 0: the context length.
  std::int64_t stride = 0;  ///< 1 to length - 1; 0: half the length.
};

/// The sum of -log p(token | earlier tokens of its window) over the tokens of a text.
struct TextLoss {
  double sum = 0;                ///< In nats.
  std::int64_t token_count = 0;  ///< Predicted tokens: all of the text but the first, each in one window.

  /// Nats per token.
  [[nodiscard]] double mean() const noexcept { return sum / static_cast<double>(token_count); }
  /// e^mean(): as uncertain as a choice among this many equally likely tokens.
  [[nodiscard]] double perplexity() const noexcept;
};

/// Predicts each token of a text but the first. The windows are those of Hugging Face: window k has the tokens
/// [k stride, k stride + length), and only tokens that no earlier window has are counted.
/// @param tokens  At least 2, all below the model's vocabulary.
/// @throws ContractError  Fewer tokens, or options out of range.
/// @cost  A forward pass over each window, several windows at a time.
/// @source  huggingface/transformers, docs "Perplexity of fixed-length models", the sliding window with a stride.
///          There, a stride of a whole length leaves the first token of each window uncounted, so this function rejects
///          that stride.
[[nodiscard]] TextLoss text_loss(const nn::Gpt& model, std::span<const std::int32_t> tokens,
                                 const WindowOptions& options = {});

}  // namespace lockstep::gpt
