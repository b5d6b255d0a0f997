#pragma once
/// @file
/// Layers with parameters. Shapes: B batch, C channels; leading dimensions of an input are kept.
#include "autograd/functions.hpp"
#include "autograd/variable.hpp"
#include "nn/init.hpp"
#include "nn/layer.hpp"
#include "nn/module.hpp"

namespace lockstep::nn {

/// Whether a layer adds a bias.
enum class Bias { kNo, kYes };

/// y = x W^T + b, as torch.nn.Linear: "weight" [out, in] and "bias" [out], both uniform in +-1/sqrt(in); without inputs
/// the bias is 0.
class Linear : public Layer {
 public:
  /// @param inputs, outputs  Channels. @param scope  Names and seeds the parameters. @param bias  kNo: weight only.
  Linear(std::int64_t inputs, std::int64_t outputs, const InitScope& scope, Bias bias = Bias::kYes);

  /// @param input  [..., in]. @return  [..., out].
  [[nodiscard]] autograd::Variable forward(const autograd::Variable& input) const override;

 private:
  autograd::Variable weight_, bias_;
};

/// From [..., in] to [..., out] by a matrix, which ranks may divide among themselves.
class Projection : public Layer {
 public:
  /// Calls the layer on gelu(input), which is not kept for backward; hooks see `input`.
  [[nodiscard]] virtual autograd::Variable forward_of_gelu(const autograd::Variable& input) const = 0;
};

/// y = x W + b with W stored [in, out]: GPT-2's layout, which Hugging Face calls Conv1D. "weight" is normal with
/// `deviation`, "bias" zero.
class Conv1D : public Projection {
 public:
  /// @param inputs, outputs  Channels. @param scope  Names and seeds. @param deviation  Of the initial weights.
  Conv1D(std::int64_t inputs, std::int64_t outputs, const InitScope& scope, double deviation = 0.02);

  /// @param input  [..., in]. @return  [..., out].
  [[nodiscard]] autograd::Variable forward(const autograd::Variable& input) const override;

  [[nodiscard]] autograd::Variable forward_of_gelu(const autograd::Variable& input) const override;

 private:
  autograd::Variable weight_, bias_;
};

/// A table of `count` rows of C channels: "weight" [count, C], normal with `deviation`. autograd::embedding() looks
/// rows up.
class Embedding : public Module {
 public:
  /// @param count  Rows. @param channels  Of each. @param scope  Names and seeds.
  /// @param deviation  Of the initial weights.
  Embedding(std::int64_t count, std::int64_t channels, const InitScope& scope, double deviation = 0.02);

  /// [count, channels]; a tied head uses it too.
  [[nodiscard]] const autograd::Variable& weight() const noexcept { return weight_; }

 private:
  autograd::Variable weight_;
};

/// Normalises each row to mean 0 and variance 1, then scales and shifts: "weight" [C] ones, "bias" [C] zeros.
class LayerNorm : public Layer {
 public:
  /// @param channels  Of the last dimension. @param scope  Names the parameters. @param epsilon  Added to the variance.
  /// @param owner     Whether this rank counts and saves the parameters, if others have them too.
  LayerNorm(std::int64_t channels, const InitScope& scope, double epsilon = 1e-5, Owner owner = Owner::kThisRank);

  /// @param input  [..., C]. @return  Same shape.
  [[nodiscard]] autograd::Variable forward(const autograd::Variable& input) const override;

  /// Adds a branch to the residual stream and normalises the sum, in one pass. Runs no hooks.
  [[nodiscard]] autograd::ResidualNorm add_forward(const autograd::Variable& input, autograd::Variable branch) const;

 private:
  autograd::Variable weight_, bias_;
  double epsilon_;
};

/// Linear, ReLU, Linear: "fc1" and "fc2"; 784-256-10 classifies digits.
class Mlp : public Layer {
 public:
  /// @param inputs, hidden, outputs  Channels. @param scope  Names and seeds the parameters.
  Mlp(std::int64_t inputs, std::int64_t hidden, std::int64_t outputs, const InitScope& scope);

  /// @param input  [B, inputs]. @return  [B, outputs].
  [[nodiscard]] autograd::Variable forward(const autograd::Variable& input) const override;

 private:
  Linear &fc1_, &fc2_;
};

}  // namespace lockstep::nn
