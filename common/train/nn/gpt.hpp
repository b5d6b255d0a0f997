#pragma once
/// @file
/// GPT-2: a decoder of pre-norm blocks with learned positions and a head tied to the token embedding.
/// @source Radford et al., "Language Models are Unsupervised Multitask Learners", 2019; names and layout of the
/// parameters are those of Hugging Face's GPT2LMHeadModel.
#include "autograd/variable.hpp"
#include "nn/gpt_config.hpp"
#include "nn/gpt_part.hpp"
#include "nn/module.hpp"

namespace lockstep::nn {

/// The model. Initial weights are normal with deviation 0.02, or 0.02/sqrt(2*layers) if they write to the residual
/// stream; biases are 0.
class Gpt : public GptPart {
 public:
  /// @param scope  A seed, or `{seed, device}`; float64 for gradient checks.
  /// @param layers  Makes the layers. Of a model whose layers ranks divide among themselves, each has its part.
  /// @throws ContractError  A size is not positive, or channels is no multiple of head_count.
  Gpt(const GptConfig& config, const InitScope& scope, const GptLayers& layers = whole_layers());

  /// Mean cross-entropy of predicting `targets`.
  /// @param inputs   [B, T] int32 token ids, T at most context_length.
  /// @param targets  [B, T] int32: the token that follows each input.
  /// @param context  Dropout; the default drops nothing.
  /// @return         One element.
  [[nodiscard]] autograd::Variable loss(const Tensor& inputs, const Tensor& targets,
                                        const ForwardContext& context = {}) const;

  /// Which positions logits() computes.
  enum class Positions { kAll, kLast };
  /// Scores of the next token, without dropout and without recording a graph: for evaluation and text generation.
  /// @param inputs  [B, T] int32.
  /// @return        [B, T, V], or [B, V] for the last position only; never bfloat16.
  /// @throws ContractError  Ranks divide the model among themselves: this one has not all of it.
  [[nodiscard]] autograd::Variable logits(const Tensor& inputs, Positions positions = Positions::kAll) const;
  /// For incremental decoding: `inputs` follow the cached positions and are cached too. The scores equal those of the
  /// whole text up to rounding (sums are added in another order), and bit for bit if the cache is empty. On the CPU
  /// only.
  /// @param inputs  [B, N] int32, the new positions.
  /// @param cache   Made for this model and B texts, see nn/key_value_cache.hpp.
  /// @return        [B, V] for the last position, or [B, N, V].
  /// @throws ContractError  No room for N more positions; another number of texts; a model on a device.
  [[nodiscard]] autograd::Variable logits(const Tensor& inputs, KeyValueCache& cache,
                                          Positions positions = Positions::kLast) const;

  [[nodiscard]] Device device() const { return table().weight().device(); }

 private:
  void require_whole() const;
  [[nodiscard]] autograd::Variable scores(autograd::Variable hidden, Positions positions) const;
};

}  // namespace lockstep::nn
