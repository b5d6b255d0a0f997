#pragma once
/// @file
/// Given: the class of exercise 08.1, whose functions are to be written, and the replica that it trains.
#include <cstdint>
#include <span>

#include "exercise/collectives.hpp"
#include "exercise/todo.hpp"

namespace lockstep::accelerate {

using exercise::Collectives;

/// This rank's copy of the model, and the optimizer that updates it.
class Replica {
 public:
  Replica() = default;
  virtual ~Replica() = default;
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  /// Computes the loss of one of this rank's micro-batches, and adds `weight` times its gradient to gradient(). As
  /// loss.backward(weight). Sends nothing.
  /// @param micro_batch  Its number, counted from the beginning of the training run.
  /// @param weight       Its share in the gradient of an update.
  virtual void backward(std::int64_t micro_batch, double weight) = 0;
  /// All of the model's gradients, [count]; zeros when training begins.
  [[nodiscard]] virtual std::span<float> gradient() noexcept = 0;
  /// Fills gradient() with zeros.
  virtual void zero_grad() = 0;
  /// Updates the parameters with gradient(), which stays as it is.
  virtual void step() = 0;
};

/// Lets a training loop call the same functions for every micro-batch, and makes updates of them. The micro-batches
/// whose gradients add up to one update are a *window*: as many as the constructor was told, or fewer at the end
/// of an epoch.
///
/// Order of calls, in the body of the loop: accumulate(), backward(), step(). zero_grad() is called once in each body
/// as well, between accumulate() and backward() or after step(). Ranks have equally many micro-batches. Thread safety:
/// one thread.
/// @source accelerate.Accelerator, accelerate.state.GradientState, Hugging Face Accelerate 1.
class GradientAccumulator {
 public:
  /// @param gradient_accumulation_steps  Micro-batches of a window, at least 1.
  /// @param replica, group               Outlive this object.
  GradientAccumulator(std::int64_t gradient_accumulation_steps, Replica& replica, Collectives& group)
      : steps_(gradient_accumulation_steps), replica_(replica), group_(group) {}

  /// Begins a micro-batch, and decides whether it is the last one of its window: that is, whether the window is full
  /// with it, or the epoch ends.
  /// @param is_last_batch  Whether it is the epoch's last one.
  void accumulate(bool is_last_batch);

  /// Whether the running micro-batch is the last one of its window.
  [[nodiscard]] bool sync_gradients() const noexcept { return sync_gradients_; }

  /// Adds a micro-batch's gradient, divided by gradient_accumulation_steps, to the window's. After the window's last
  /// one the gradients are averaged over the ranks.
  /// @param micro_batch  As Replica::backward() takes it.
  /// @post  With sync_gradients() the replica's gradient is the mean over all ranks.
  /// @cost  The gradient is sent once per window.
  void backward(std::int64_t micro_batch);

  /// Clears the gradients, unless they are still needed for an update.
  void zero_grad();

  /// Updates the parameters, if the window is complete.
  void step();

 private:
  std::int64_t steps_;
  Replica& replica_;
  Collectives& group_;
  std::int64_t micro_batches_ = 0;  // of the running window, the running one included
  bool sync_gradients_ = true;      // true at first, as if a window had just ended
  bool is_update_due_ = false;      // gradients have been added that no update has used yet
};

}  // namespace lockstep::accelerate
