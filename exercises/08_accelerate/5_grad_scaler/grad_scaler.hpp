#pragma once
/// @file
/// Given: a step with gradients in float16, for exercise 08.5, and the state of the scale that keeps them in range.
#include <cmath>
#include <cstdint>
#include <span>

#include "exercise/collectives.hpp"
#include "exercise/todo.hpp"

namespace lockstep::accelerate {

using exercise::Collectives;

/// This rank's copy of a model whose backward computes in float16.
class HalfReplica {
 public:
  HalfReplica() = default;
  virtual ~HalfReplica() = default;
  HalfReplica(const HalfReplica&) = delete;
  HalfReplica& operator=(const HalfReplica&) = delete;

  /// Computes the gradient of `scale` times the loss of this rank's samples, in float16, and writes it to gradient(). A
  /// value above 65504 becomes an infinity, one below 3e-8 becomes 0, and infinities can make NaN.
  virtual void backward(double scale) = 0;
  /// All of the model's gradients, [count], as float32.
  [[nodiscard]] virtual std::span<float> gradient() noexcept = 0;
  /// Updates the parameters with gradient(), which is that of the loss itself.
  virtual void step() = 0;
};

/// How the scale changes, and how long a gradient may be; the same on all ranks. torch.amp.GradScaler's names and
/// defaults.
struct ScalerOptions {
  double growth_factor = 2;             ///< Multiplies the scale after growth_interval updates in a row.
  double backoff_factor = 0.5;          ///< Multiplies the scale after a skipped step.
  std::int64_t growth_interval = 2000;  ///< As above; at least 1.
  double max_norm = 1;                  ///< Of the gradient that the parameters are updated with.
};

/// State carried from step to step; the same on all ranks.
struct ScalerState {
  double scale = 65536;         ///< The loss is multiplied by it.
  std::int64_t good_steps = 0;  ///< Updates in a row since the scale has changed, or a step was skipped.
};

/// Scales a gradient down so that its norm is at most `max_norm`; does nothing if it already is.
/// @param gradient  [count], in place. @param max_norm  Above 0.
inline void clip_grad_norm(std::span<float> gradient, double max_norm) {
  double squares = 0;
  for (const float value : gradient) squares += static_cast<double>(value) * value;
  const double norm = std::sqrt(squares);
  if (norm <= max_norm) return;
  for (float& value : gradient) value = static_cast<float>(value * (max_norm / norm));
}

/// One step in float16: the loss is scaled, the gradients are averaged over the ranks, divided by the scale and clipped
/// to options.max_norm, and the parameters are updated.
///
/// If a gradient is infinite or NaN on any rank, all ranks skip the update and make the scale smaller. After
/// growth_interval updates in a row the scale grows.
///
/// @param replica, options, state  Of this rank; options and state are the same on all ranks.
/// @param group                    All ranks call this function together.
/// @return  Whether the parameters were updated: the same on all ranks.
/// @post    `state` is that of the next step, the same on all ranks.
/// @cost    The gradient is sent once.
[[nodiscard]] bool scaled_step(HalfReplica& replica, const ScalerOptions& options, ScalerState& state,
                               Collectives& group);

}  // namespace lockstep::accelerate
