#pragma once
/// @file
/// Stochastic gradient descent.
#include "optim/optimizer.hpp"

namespace lockstep::optim {

/// Options besides the learning rate.
struct SgdOptions {
  double momentum = 0;       ///< 0: plain SGD, without state.
  bool is_nesterov = false;  ///< Looks one step of momentum ahead; needs momentum.
};

/// As torch.optim.SGD: g += weight_decay * p; with momentum m, v = m v + g (v = g on the first step) and p -= lr * v
/// (Nesterov: p -= lr * (g + m v)).
class Sgd : public Optimizer {
 public:
  /// @param groups  Parameters and their weight decay. @param options  Momentum.
  /// @throws ContractError  Nesterov without momentum; a momentum below 0; a parameter that is not float32; as
  ///                        Optimizer's constructor.
  explicit Sgd(std::vector<nn::ParameterGroup> groups, SgdOptions options = {});
  /// All parameters of `module` in one group without weight decay.
  explicit Sgd(const nn::Module& module, SgdOptions options = {});

  /// "<parameter>.momentum_buffer" with momentum, else nothing.
  [[nodiscard]] std::vector<NamedTensor> state() const override;

 private:
  void update(const Update& update) override;

  SgdOptions options_;
  std::vector<Tensor> momentum_buffers_;
};

}  // namespace lockstep::optim
