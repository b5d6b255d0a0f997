#pragma once
/// @file
/// What every optimizer does: walks parameter groups, counts steps, exposes its state by name.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nn/module.hpp"
#include "tensor/named_tensor.hpp"

namespace lockstep::optim {

/// Of optimizer state the name is that of parameter and quantity, for example "h.0.ln_1.weight.exp_avg".
using lockstep::NamedTensor;

/// How often step() has been called, and which parameters it has updated less often, because they had no gradient.
struct StepCounts {
  std::int64_t steps = 0;                       ///< Calls of step().
  std::map<std::string, std::int64_t> fewer{};  ///< By name, updates of the parameters that were left out of some.
};

/// Updates parameters from their gradients. Reads values and gradients where they live at the time of the step, so
/// both may be rebound between steps. Thread safety: none.
class Optimizer {
 public:
  /// @param groups  Parameters, each group with its weight decay and its scale of the learning rate.
  /// @throws ContractError  There is no parameter in them.
  explicit Optimizer(std::vector<nn::ParameterGroup> groups);
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;

  /// Updates every parameter that has a gradient, in one pass each; the others stay as they are, and so does one whose
  /// observer has a veto (autograd::GradientObserver::veto()), which the host need not know of yet.
  /// @param learning_rate  Of this step, before each group's own scale; schedules live outside (optim/schedule.hpp).
  void step(double learning_rate);

  /// Marks every gradient unwritten.
  void zero_grad();

  /// As given to the constructor.
  [[nodiscard]] const std::vector<nn::ParameterGroup>& groups() const noexcept { return groups_; }

  /// How many steps have been taken. Adam's bias correction depends on it, so a checkpoint saves and restores it.
  [[nodiscard]] StepCounts step_counts() const;
  /// @param counts  From a checkpoint. @throws ContractError  A name is no parameter's.
  void set_step_counts(const StepCounts& counts);

  /// The state, one entry per parameter and moment, names as PyTorch's; none for plain SGD.
  [[nodiscard]] virtual std::vector<NamedTensor> state() const = 0;

 protected:
  /// One parameter in a step.
  struct Update {
    Tensor value;          ///< Overwritten.
    Tensor gradient;       ///< Read only.
    std::size_t index;     ///< Position over all groups, for looking state up.
    std::int64_t number;   ///< Of this update among the parameter's own, from 1.
    double learning_rate;  ///< Of this step and the parameter's group.
    double weight_decay;   ///< Of the parameter's group.
    Tensor veto;           ///< For the kernel: not 0 forbids the update. May be undefined.
  };
  /// Updates one parameter; the subclass's own rule.
  virtual void update(const Update& update) = 0;

  /// Zeros shaped like each parameter, in order over all groups.
  [[nodiscard]] std::vector<Tensor> zeros_like_parameters() const;
  /// Names each of `tensors` "<parameter>.<suffix>" and appends them to `all`.
  void append_state(std::vector<NamedTensor>& all, const std::vector<Tensor>& tensors, const std::string& suffix) const;

 private:
  std::vector<nn::ParameterGroup> groups_;
  std::int64_t steps_ = 0;
  std::vector<std::int64_t> updates_;  // of each parameter, over all groups
};

}  // namespace lockstep::optim
