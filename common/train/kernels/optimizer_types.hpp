#pragma once
/// @file
/// Options of the updates in kernels/optimizer.hpp. No tensors here: device code includes it.
#include <cmath>
#include <cstdint>

namespace lockstep::kernels {

/// Options of sgd_step().
struct SgdOptions {
  double learning_rate = 0.0;
  double momentum = 0.0;      ///< Share of the last step that is kept.
  double weight_decay = 0.0;  ///< Added to the gradient.
  bool is_nesterov = false;   ///< The update is g + momentum velocity instead of velocity.
};

/// Whether weight decay is part of the gradient (Adam) or shrinks the parameter (AdamW).
enum class WeightDecay { kInGradient, kDecoupled };

/// Options of adam_step().
struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;                                ///< Decay of the mean of gradients.
  double beta2 = 0.999;                              ///< Decay of the mean of their squares.
  double epsilon = 1e-8;                             ///< Keeps the quotient finite.
  double weight_decay = 0.0;                         ///< 0: none.
  WeightDecay decay_kind = WeightDecay::kDecoupled;  ///< Decoupled (AdamW) or added to the gradient (Adam).
  std::int64_t step = 1;                             ///< Counted from 1; for bias correction.
  double gradient_scale = 1.0;  ///< Multiplies the gradient first (clipping without an extra pass).
};

/// The constants of one Adam step, computed in double precision and rounded once, as PyTorch does. Every device gets
/// the same ones. With g = gradient_scale gradient + gradient_decay p:
/// m = beta1 m + one_minus_beta1 g; v = beta2 v + one_minus_beta2 g g;
/// p = decay p - step_size m / (sqrt(v) / correction2_sqrt + epsilon).
struct AdamConstants {
  float decay;           ///< Of the parameter (decoupled weight decay); else 1.
  float gradient_decay;  ///< Weight decay in the gradient; else 0.
  float beta1;
  float one_minus_beta1;  ///< Rounded from 1 - beta1 in double precision.
  float beta2;
  float one_minus_beta2;   ///< Rounded from 1 - beta2 in double precision.
  float correction2_sqrt;  ///< sqrt(1 - beta2^step).
  float epsilon;
  float step_size;  ///< learning_rate / (1 - beta1^step).
  float gradient_scale;

  explicit AdamConstants(const AdamOptions& o) {
    const bool is_decoupled = o.decay_kind == WeightDecay::kDecoupled;
    const auto steps = static_cast<double>(o.step);
    decay = static_cast<float>(is_decoupled ? 1.0 - o.learning_rate * o.weight_decay : 1.0);
    gradient_decay = static_cast<float>(is_decoupled ? 0.0 : o.weight_decay);
    beta1 = static_cast<float>(o.beta1);
    one_minus_beta1 = static_cast<float>(1.0 - o.beta1);
    beta2 = static_cast<float>(o.beta2);
    one_minus_beta2 = static_cast<float>(1.0 - o.beta2);
    correction2_sqrt = static_cast<float>(std::sqrt(1.0 - std::pow(o.beta2, steps)));
    epsilon = static_cast<float>(o.epsilon);
    step_size = static_cast<float>(o.learning_rate / (1.0 - std::pow(o.beta1, steps)));
    gradient_scale = static_cast<float>(o.gradient_scale);
  }
};

}  // namespace lockstep::kernels
