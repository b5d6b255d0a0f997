#pragma once
/// @file
/// The token table of a pipeline. The first stage owns it, and the last stage borrows it for the head, which has the
/// same weights.
#include <memory>

#include "11_pipeline_parallel/stage_link.hpp"
#include "autograd/variable.hpp"
#include "nn/gpt_layers.hpp"
#include "nn/gpt_part.hpp"

namespace lockstep::pipeline {

using autograd::Variable;

/// Layers of a part of a GPT. If it is the last part and not the first, its table is no parameter of the module: the
/// part's optimizer does not update it, its norm does not count it, and its checkpoints do not have it.
class BorrowingLayers : public nn::GptLayers {
 public:
  /// @param base  Makes the layers. Must outlive this.
  explicit BorrowingLayers(const nn::GptLayers& base = nn::whole_layers()) : base_(base) {}

  [[nodiscard]] std::unique_ptr<nn::Projection> wide(std::int64_t inputs, std::int64_t outputs, int packed,
                                                     const nn::InitScope& scope) const override;
  [[nodiscard]] std::unique_ptr<nn::Projection> narrow(std::int64_t inputs, std::int64_t outputs, double deviation,
                                                       const nn::InitScope& scope) const override;
  [[nodiscard]] std::unique_ptr<nn::TokenTable> table(const nn::GptConfig& config, nn::Owner owner,
                                                      const nn::InitScope& scope) const override;
  [[nodiscard]] std::unique_ptr<nn::Embedding> positions(const nn::GptConfig& config,
                                                         const nn::InitScope& scope) const override;
  [[nodiscard]] std::unique_ptr<nn::LayerNorm> norm(std::int64_t channels, const nn::InitScope& scope) const override;
  [[nodiscard]] Range heads(const nn::GptConfig& config) const override { return base_.heads(config); }
  [[nodiscard]] nn::StreamShare stream_share() const override { return base_.stream_share(); }

 private:
  const nn::GptLayers& base_;
};

/// Keeps the two tables equal, and adds their gradients up on the owner. Does nothing on a rank with another stage, or
/// with the whole model. All calls come in the same order on both ranks. Thread safety: none.
class TableLoan {
 public:
  /// @param part  Of BorrowingLayers. Must outlive this. @param link  StageLinks::table; null: no part in it.
  TableLoan(const nn::GptPart& part, StageLink* link);

  /// The owner sends its values; the borrower will wait for them in use(). Does nothing if they are the same as before.
  void lend();
  /// Call before the head is used: the borrower's values are the owner's from here on.
  void use();

  /// Begins a step with backward passes: the borrower's gradient is zero, and the owner waits for it in take_back().
  void begin_step();
  /// The borrower, after its last backward pass of a step: sends the sum of its gradients.
  void give_back();
  /// The owner, before its last backward pass of a step: adds that sum to its gradient, so that this is complete after
  /// the pass. A frozen table stays without a gradient. The next lend() sends new values.
  void take_back();

 private:
  [[nodiscard]] ExpectedTensor message(const char* tag) const;

  StageLink* link_;
  bool owns_;
  Variable weight_;
  bool is_current_ = false;   // the borrower has the owner's values, or has been sent them
  bool is_arriving_ = false;  // they are on their way to this rank
};

}  // namespace lockstep::pipeline
