#pragma once
/// @file
/// The part common to all optimizers: walks parameter groups, counts steps, exposes its state by name.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nn/module.hpp"
#include "tensor/named_tensor.hpp"

namespace lockstep::optim {

/// Optimizer state is named after parameter and quantity, for example "h.0.ln_1.weight.exp_avg".
using lockstep::NamedTensor;

/// How often step() has been called, and which parameters it updated less often, because they had no gradient.
struct StepCounts {
  std::int64_t steps = 0;
  std::map<std::string, std::int64_t> fewer{};  ///< By name, update counts of the parameters that missed some steps.
};

/// Updates parameters from their gradients. Reads values and gradients from their storage at the time of the step, so
/// both may be rebound between steps. If an observer of a parameter never allows an update, its veto()
/// (autograd::GradientObserver) throws, and so do constructor and step(). Thread safety: none.
class Optimizer {
 public:
  /// @param groups  Parameters, each group with its weight decay and its scale of the learning rate.
  /// @throws ContractError  The groups are all empty; a variable that is no parameter, or a parameter that comes twice
  ///                        (tied weights of two modules); a weight decay or scale below 0.
  explicit Optimizer(std::vector<nn::ParameterGroup> groups);
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;

  /// Updates every parameter that has a gradient, in one pass each. Skips a parameter if an observer vetoes it
  /// (autograd::GradientObserver::veto()), which the host need not know yet.
  /// @param learning_rate  Of this step, before each group's own scale; schedules live outside (optim/schedule.hpp).
  /// @throws ContractError  It is negative, infinite or NaN. Then nothing has been updated.
  void step(double learning_rate);

  void zero_grad();

  [[nodiscard]] const std::vector<nn::ParameterGroup>& groups() const noexcept { return groups_; }

  /// Adam's bias correction depends on it, so a checkpoint saves and restores it.
  /// @throws ContractError  A parameter that missed steps has the name of another one.
  [[nodiscard]] StepCounts step_counts() const;
  /// @param counts  From a checkpoint. @throws ContractError  A name is no parameter's.
  void set_step_counts(const StepCounts& counts);

  /// The state, one entry per parameter and moment, named as in PyTorch; empty for plain SGD.
  [[nodiscard]] virtual std::vector<NamedTensor> state() const = 0;

 protected:
  /// One parameter in a step.
  struct Update {
    Tensor value;          ///< Overwritten.
    Tensor gradient;       ///< Read only.
    std::size_t index;     ///< Position over all groups, for looking state up.
    std::int64_t number;   ///< Of this parameter's updates, counted from 1.
    double learning_rate;  ///< Of this step and the parameter's group.
    double weight_decay;   ///< Of the parameter's group.
    Tensor veto;           ///< For the kernel: nonzero forbids the update. May be undefined.
  };
  virtual void update(const Update& update) = 0;

  /// For constructors, as the kernels update nothing else. @throws ContractError  A parameter is not float32; names it.
  void require_float32() const;
  /// Zeros shaped like each parameter, in order over all groups. @throws ContractError  As require_float32().
  [[nodiscard]] std::vector<Tensor> zeros_like_parameters() const;
  /// Names each of `tensors` "<parameter>.<suffix>" and appends them to `all`.
  void append_state(std::vector<NamedTensor>& all, const std::vector<Tensor>& tensors, const std::string& suffix) const;

 private:
  std::vector<nn::ParameterGroup> groups_;
  std::int64_t steps_ = 0;
  std::vector<std::int64_t> updates_;  // of each parameter, over all groups
};

}  // namespace lockstep::optim
