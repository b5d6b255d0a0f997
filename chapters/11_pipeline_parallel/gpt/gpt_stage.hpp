#pragma once
/// @file
/// A part of a GPT as the stage of a pipeline.
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "11_pipeline_parallel/gpt/borrowed_table.hpp"
#include "11_pipeline_parallel/gpt/message_order.hpp"
#include "11_pipeline_parallel/stage_link.hpp"
#include "11_pipeline_parallel/stage_loop.hpp"
#include "nn/gpt_part.hpp"
#include "run/step.hpp"
#include "run/step_clock.hpp"

namespace lockstep::pipeline {

/// Is told how far a rank is in a step. Each function may be empty.
struct StageObserver {
  /// Called whenever the rank begins to compute forward or backward, or to wait for what it needs for that.
  std::function<void(run::Phase)> enter = {};
  /// Called before the last backward pass, after which the gradients of all the rank's parameters are complete.
  std::function<void()> before_last_backward = {};
};

/// One rank's stage, for a step or an evaluation after another. Thread safety: none.
class GptStage final : public Stage {
 public:
  /// @param part   Of BorrowingLayers. Must outlive this.
  /// @param links  Must outlive this.
  GptStage(const nn::GptPart& part, StageLinks& links);

  /// Begins with the micro-batches of a batch: announces all that is going to arrive.
  /// @param actions  That this rank is about to do. Must outlive them, as `micro_batches` must.
  /// @throws ContractError  One of another micro-batch.
  void begin(std::span<const run::MicroBatch> micro_batches, std::span<const Action> actions, StageObserver observer);
  /// After the actions: waits until all that was sent has left this rank.
  /// @return  In the last stage the mean loss of the micro-batches by their weights; elsewhere 0.
  /// @throws ContractError  A message of the actions has not been exchanged, for which another stage would wait. In the
  ///                        functions below: it is not the next one.
  double finish();

  /// The most micro-batches whose graphs this rank had at the same time in the last step.
  [[nodiscard]] std::size_t most_held() const noexcept { return most_held_; }

  [[nodiscard]] bool is_first() const override { return part_.is_first(); }
  [[nodiscard]] bool is_last() const override { return part_.is_last(); }
  [[nodiscard]] Tensor receive_input(int micro_batch) override;
  void send_output(int micro_batch, const Tensor& output) override;
  [[nodiscard]] Tensor receive_gradient(int micro_batch) override;
  void send_gradient(int micro_batch, const Tensor& gradient) override;
  [[nodiscard]] Variable forward(int micro_batch, const Variable& input) override;
  void backward(int micro_batch, const Variable& output, Tensor gradient) override;

 private:
  void announce(const Action& action);
  void enter(run::Phase phase) const;
  [[nodiscard]] Variable loss_of(const Variable& hidden, const run::MicroBatch& micro_batch);
  void count_held(const Variable& output);

  const nn::GptPart& part_;
  StageLinks& links_;
  TableLoan table_;
  MessageOrder messages_;
  std::span<const run::MicroBatch> micro_batches_;
  StageObserver observer_;
  std::size_t backwards_left_ = 0;
  double loss_ = 0;
  std::vector<std::weak_ptr<Variable::Node>> graphs_;  // of outputs; they end with their micro-batch's backward pass
  std::size_t most_held_ = 0;
};

}  // namespace lockstep::pipeline
