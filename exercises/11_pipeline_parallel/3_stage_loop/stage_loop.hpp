#pragma once
/// @file
/// Given: a stage of a model as the loop of exercise 11.3 uses it.
#include <span>

#include "11_pipeline_parallel/schedules/schedule.hpp"
#include "autograd/variable.hpp"
#include "exercise/todo.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::pipeline {

using autograd::Variable;

/// This rank's stage of a model, and its neighbours. A rank receives micro-batches in the order in which its actions
/// use them, and sends them in the order in which it computes them.
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

/// Does a rank's actions one after another. A result is sent as soon as it is computed, and an input is received when
/// its action comes. From a micro-batch's forward pass to its backward pass the loop keeps the input and the graph. The
/// elements of an output are not kept after they are sent, and nothing is kept after the backward pass.
/// @param actions  This rank's list of a schedule; backward passes may be in any order, or missing.
/// @throws ContractError  A backward pass without its forward pass.
void run_actions(std::span<const Action> actions, Stage& stage);

}  // namespace lockstep::pipeline
