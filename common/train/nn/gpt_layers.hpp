#pragma once
/// @file
/// What a GPT is made of. A model whose matrices are divided among ranks supplies layers of its own; the model's code
/// stays the same.
#include <cstdint>
#include <memory>

#include "autograd/variable.hpp"
#include "nn/gpt_config.hpp"
#include "nn/init.hpp"
#include "nn/layers.hpp"
#include "nn/module.hpp"
#include "tensor/slice.hpp"

namespace lockstep::nn {

/// The token embedding, whose weights are also the head: each token's row is compared with the last hidden state.
class TokenTable : public Module {
 public:
  /// @param tokens     [B, T] int32.
  /// @param positions  [at least T, C], added to the rows; undefined if GptLayers::positions() makes none.
  /// @return           [B, T, C].
  [[nodiscard]] virtual autograd::Variable embed(const Tensor& tokens, const autograd::Variable& positions) const = 0;
  /// Mean cross-entropy of predicting `targets`. @param hidden  [B, T, C]. @param targets  [B, T] int32.
  /// @return  One element.
  [[nodiscard]] virtual autograd::Variable loss(const autograd::Variable& hidden, const Tensor& targets) const = 0;
  /// The rows that this rank has, [rows, C].
  [[nodiscard]] virtual const autograd::Variable& weight() const noexcept = 0;
};

/// How ranks divide the rows of the residual stream, B T in all: equally and in order. A rank with a share of several
/// has [B T / ranks, C] for [B, T, C].
struct StreamShare {
  int rank = 0;   ///< In [0, ranks).
  int ranks = 1;  ///< 1: every rank has all rows.
};

/// Makes the layers of a GPT. This class makes whole ones, as a model on one rank has them; derived classes make those
/// of a rank that has a part of each. Names and initial values are the whole's.
class GptLayers {
 public:
  virtual ~GptLayers() = default;

  /// A projection after a norm, into heads or into the wide middle of the MLP.
  /// @param packed  So many matrices side by side: 3 for queries, keys and values.
  [[nodiscard]] virtual std::unique_ptr<Projection> wide(std::int64_t inputs, std::int64_t outputs, int packed,
                                                         const InitScope& scope) const;
  /// A projection back, whose output is added to the residual stream. @param deviation  Of the initial weights.
  [[nodiscard]] virtual std::unique_ptr<Projection> narrow(std::int64_t inputs, std::int64_t outputs, double deviation,
                                                           const InitScope& scope) const;
  /// @param owner  Whether this rank counts and saves it: a model's last part may have a second table.
  [[nodiscard]] virtual std::unique_ptr<TokenTable> table(const GptConfig& config, Owner owner,
                                                          const InitScope& scope) const;
  /// The position embedding. @return  Null: another rank adds it to its rows of the table.
  [[nodiscard]] virtual std::unique_ptr<Embedding> positions(const GptConfig& config, const InitScope& scope) const;
  /// A norm of the residual stream, which every rank has.
  [[nodiscard]] virtual std::unique_ptr<LayerNorm> norm(std::int64_t channels, const InitScope& scope) const;
  /// The attention heads of wide()'s output; dropout draws the same masks whichever rank has a head.
  [[nodiscard]] virtual Range heads(const GptConfig& config) const;
  /// The rows of the residual stream that norms and dropout see: those that wide() takes and narrow() returns.
  [[nodiscard]] virtual StreamShare stream_share() const;
};

/// The layers of nn::Gpt.
[[nodiscard]] const GptLayers& whole_layers();

}  // namespace lockstep::nn
