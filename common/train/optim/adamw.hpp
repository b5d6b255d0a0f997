#pragma once
/// @file
/// Adam, with weight decay coupled (Adam) or decoupled (AdamW).
#include "optim/optimizer.hpp"

namespace lockstep::optim {

/// PyTorch's defaults.
struct AdamOptions {
  double beta1 = 0.9;     ///< Decay of the mean of gradients.
  double beta2 = 0.999;   ///< Decay of the mean of their squares.
  double epsilon = 1e-8;  ///< Keeps the quotient finite.
};
using AdamWOptions = AdamOptions;

/// As torch.optim.Adam: weight decay is added to the gradient (L2).
/// State: 8 bytes per float32 parameter.
/// @source Kingma and Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015, algorithm 1.
class Adam : public Optimizer {
 public:
  /// @param groups  Parameters and their weight decay. @param options  The rest.
  /// @throws ContractError  A beta outside [0, 1) or an epsilon below 0; a parameter that is not float32; as the
  ///                        constructor of Optimizer.
  explicit Adam(std::vector<nn::ParameterGroup> groups, const AdamOptions& options = {});
  /// All parameters of `module` in one group without weight decay.
  explicit Adam(const nn::Module& module, const AdamOptions& options = {});

  /// "<parameter>.exp_avg" and "<parameter>.exp_avg_sq".
  [[nodiscard]] std::vector<NamedTensor> state() const override;

 protected:
  /// Added to the gradient (Adam), or taken from the parameter (AdamW).
  enum class WeightDecay { kCoupled, kDecoupled };
  /// For AdamW.
  Adam(std::vector<nn::ParameterGroup> groups, const AdamOptions& options, WeightDecay weight_decay);

 private:
  void update(const Update& update) override;

  AdamOptions options_;
  WeightDecay weight_decay_;
  std::vector<Tensor> averages_, squared_averages_;
};

/// As torch.optim.AdamW: p -= lr * weight_decay * p, then Adam's step without decay.
/// @source Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2.
class AdamW : public Adam {
 public:
  /// @param groups  Parameters and their weight decay. @param options  The rest. @throws  As Adam's constructor.
  explicit AdamW(std::vector<nn::ParameterGroup> groups, const AdamWOptions& options = {})
      : Adam(std::move(groups), options, WeightDecay::kDecoupled) {}
};

}  // namespace lockstep::optim
