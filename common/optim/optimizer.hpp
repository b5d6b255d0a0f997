#pragma once
/// @file
/// What every optimizer does: walks parameter groups, counts steps, exposes its state by name.
#include <cstdint>
#include <string>
#include <vector>

#include "nn/module.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::optim {

/// A tensor of optimizer state, for example "h.0.ln_1.weight.exp_avg". The handle shares the optimizer's storage:
/// a checkpoint reads it and, on resume, copies into it.
struct NamedTensor {
  std::string name;  ///< Of parameter and quantity.
  Tensor tensor;     ///< A view: copying into it loads.
};

/// Updates parameters from their gradients. Reads values and gradients where they live at the time of the step, so
/// both may be rebound between steps. Thread safety: none.
class Optimizer {
 public:
  /// @param groups  Parameters and their weight decay.
  explicit Optimizer(std::vector<nn::ParameterGroup> groups) : groups_(std::move(groups)) {}
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;

  /// Updates every parameter that has a gradient, in one pass each; the others stay as they are.
  /// @param learning_rate  Of this step; schedules live outside (optim/schedule.hpp).
  void step(double learning_rate);

  /// Marks every gradient unwritten.
  void zero_grad();

  /// As given to the constructor.
  [[nodiscard]] const std::vector<nn::ParameterGroup>& groups() const noexcept { return groups_; }

  /// Number of step() calls; Adam's bias correction depends on it, so a checkpoint saves and restores it.
  [[nodiscard]] std::int64_t step_count() const noexcept { return step_count_; }
  /// @param step_count  From a checkpoint.
  void set_step_count(std::int64_t step_count) noexcept { step_count_ = step_count; }

  /// The state, one entry per parameter and moment, names as PyTorch's; none for plain SGD.
  [[nodiscard]] virtual std::vector<NamedTensor> state() const = 0;

 protected:
  /// One parameter in a step.
  struct Update {
    Tensor value;          ///< Overwritten.
    Tensor gradient;       ///< Read only.
    std::size_t index;     ///< Position over all groups, for looking state up.
    double learning_rate;  ///< Of this step.
    double weight_decay;   ///< Of the parameter's group.
  };
  /// Updates one parameter; the subclass's own rule.
  virtual void update(const Update& update) = 0;

  /// Zeros shaped like each parameter, in order over all groups.
  [[nodiscard]] std::vector<Tensor> zeros_like_parameters() const;
  /// Names each of `tensors` "<parameter>.<suffix>" and appends them to `all`.
  void append_state(std::vector<NamedTensor>& all, const std::vector<Tensor>& tensors, const std::string& suffix) const;

 private:
  std::vector<nn::ParameterGroup> groups_;
  std::int64_t step_count_ = 0;
};

}  // namespace lockstep::optim
