#pragma once
/// @file
/// Stochastic gradient descent.
#include "optim/optimizer.hpp"

namespace lockstep::optim {

/// Beside the learning rate.
struct SgdOptions {
  double momentum = 0;  ///< 0: plain SGD, without state.
};

/// As torch.optim.SGD: g += weight_decay * p; with momentum m, v = m v + g (v = g on the first step) and p -= lr * v.
class Sgd : public Optimizer {
 public:
  /// @param groups  Parameters and their weight decay. @param options  Momentum.
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
