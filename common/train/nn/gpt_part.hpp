#pragma once
/// @file
/// Some consecutive blocks of a GPT, with what comes before the first and after the last.
#include <cstdint>
#include <vector>

#include "autograd/variable.hpp"
#include "nn/gpt_config.hpp"
#include "nn/gpt_layers.hpp"
#include "nn/module.hpp"
#include "tensor/slice.hpp"

namespace lockstep::nn {

class GptBlock;
class KeyValueCache;

/// Blocks [begin, end) of a model. The part with the first block has the embeddings, too, and the part with the last
/// one the final norm and the head. nn::Gpt is the part with all of them; the stages of a pipeline are several parts.
/// Parameters have the names and initial values of the whole model.
///
/// The head's weights are those of the token embedding. If the last part is not the first, it has a table of its own,
/// which is not owned; the trainer of the parts keeps both equal.
class GptPart : public Module {
 public:
  /// @param scope   Of the whole model: a seed, or `{seed, device}`; float64 for gradient checks.
  /// @param blocks  At least one of config.layer_count.
  /// @param layers  Makes them.
  /// @throws ContractError  A size is not positive, channels is no multiple of head_count, or no such blocks.
  GptPart(GptConfig config, const InitScope& scope, Range blocks, const GptLayers& layers = whole_layers());

  [[nodiscard]] const GptConfig& config() const noexcept { return config_; }
  [[nodiscard]] Range blocks() const noexcept { return range_; }
  [[nodiscard]] bool is_first() const noexcept { return range_.begin == 0; }
  [[nodiscard]] bool is_last() const noexcept { return range_.end == config_.layer_count; }

  /// Of the residual stream that goes from part to part: [B, T, C], or [B T / ranks, C] if the layers have a share of
  /// its rows only. @param tokens  [B, T].
  [[nodiscard]] Shape stream_shape(const Shape& tokens) const;

  /// @param tokens   [B, T] int32, T at most context_length; read by the first part, and by the others if the layers
  ///                 have a share of the stream's rows only: for its shape.
  /// @param stream   [B, T, C], what the part before returned; read by the others.
  /// @param context  Dropout; the default drops nothing.
  /// @return         [B, T, C]: the residual stream, and after the last block its final norm. Of the rows of the
  ///                 layers' stream_share().
  /// @throws ContractError  T is larger than context_length; or ranks divide the rows of the stream, and T is 0 or B T
  ///                        no multiple of their number.
  [[nodiscard]] autograd::Variable forward(const Tensor& tokens, const autograd::Variable& stream,
                                           const ForwardContext& context = {}) const;
  /// Mean cross-entropy of predicting `targets`, by the last part.
  /// @param hidden   [B, T, C], what its forward() returned. @param targets  [B, T] int32.
  /// @return         One element.
  [[nodiscard]] autograd::Variable loss(const autograd::Variable& hidden, const Tensor& targets) const;

  /// Of the first and the last part.
  [[nodiscard]] const TokenTable& table() const;

 protected:
  /// As forward(); with a cache `tokens` follow the cached positions, and are cached too.
  [[nodiscard]] autograd::Variable run(const Tensor& tokens, const autograd::Variable& stream,
                                       const ForwardContext& context, KeyValueCache* cache) const;

 private:
  void require_tokens(const Tensor& tokens, std::int64_t past) const;
  [[nodiscard]] autograd::Variable embed(const Tensor& tokens, std::int64_t past) const;

  GptConfig config_;
  Range range_;
  TokenTable* table_ = nullptr;     // in the first and the last part
  Embedding* positions_ = nullptr;  // in the first, unless another rank has it
  StreamShare share_;
  std::vector<GptBlock*> blocks_;
  LayerNorm* final_norm_ = nullptr;  // in the last
};

}  // namespace lockstep::nn
