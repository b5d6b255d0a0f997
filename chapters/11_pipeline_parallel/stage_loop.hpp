#pragma once
/// @file
/// The loop that every rank of a pipeline runs, whatever the schedule.
#include <span>

#include "11_pipeline_parallel/schedules/schedule.hpp"
#include "autograd/variable.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::pipeline {

using autograd::Variable;

/// This rank's stage of a model, and its neighbours, as the loop uses them. Tensors are [B, T, C]: the residual stream,
/// or its gradient. A rank receives micro-batches in the order in which its actions use them, and sends them in the
/// order in which it computes them; for all ranks that is the same.
class Stage {
 public:
  virtual ~Stage() = default;

  [[nodiscard]] virtual bool is_first() const = 0;  ///< Receives no input: it has the samples.
  [[nodiscard]] virtual bool is_last() const = 0;   ///< Receives no gradient: it has the loss.

  /// Waits for the output of the stage before. @pre  Not the first stage.
  [[nodiscard]] virtual Tensor receive_input(int micro_batch) = 0;
  /// Sends the output to the stage after, and does not wait for it. @pre  Not the last stage.
  virtual void send_output(int micro_batch, const Tensor& output) = 0;
  /// Waits for the gradient of the output, from the stage after. @pre  Not the last stage.
  [[nodiscard]] virtual Tensor receive_gradient(int micro_batch) = 0;
  /// Sends the gradient of the input to the stage before, and does not wait for it. @pre  Not the first stage.
  virtual void send_gradient(int micro_batch, const Tensor& gradient) = 0;

  /// Computes a micro-batch.
  /// @param input  What arrived, as a leaf that collects a gradient: Variable::parameter(tensor, ""). Undefined in the
  ///               first stage.
  /// @return       The output; in the last stage the loss.
  [[nodiscard]] virtual Variable forward(int micro_batch, const Variable& input) = 0;
  /// Computes the gradients of this stage's parameters and of the micro-batch's input, and frees its graph.
  /// @param output    What forward() returned; also without_value().
  /// @param gradient  Of the output; undefined in the last stage, which knows what its loss counts.
  virtual void backward(int micro_batch, const Variable& output, Tensor gradient) = 0;
};

/// Does a rank's actions one after another. From a micro-batch's forward pass to its backward pass it keeps the input
/// and the graph; the elements of an output belong to the stage after as soon as they are sent.
///
/// It has a source of its own: exercise 11.3 asks for it.
/// @param actions  This rank's list of a schedule. Without backward passes, everything is kept until the end.
/// @throws ContractError  A backward pass without its forward pass.
void run_actions(std::span<const Action> actions, Stage& stage);

}  // namespace lockstep::pipeline
