#pragma once
/// @file
/// Loss scaling: keeps small gradients of a narrow number format from becoming 0.
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>

#include "autograd/variable.hpp"
#include "optim/optimizer.hpp"

namespace lockstep::optim {

/// PyTorch's names and defaults; equal on all ranks.
struct GradScalerOptions {
  double init_scale = 65536.0;          ///< Of the first step; above 0.
  double growth_factor = 2.0;           ///< Multiplies the scale after growth_interval good steps; above 1.
  double backoff_factor = 0.5;          ///< Multiplies the scale after a skipped step; in (0, 1).
  std::int64_t growth_interval = 2000;  ///< Steps without an infinity in a row before the scale grows; at least 1.
  bool enabled = true;                  ///< False: the scaler passes everything through.
  /// With several ranks: turns "this rank has found an infinity" into "some rank has", so that all ranks skip a step or
  /// none does. Collective. Empty: this process decides alone.
  std::function<bool(bool)> any_rank{};
};

/// Multiplies a loss by a large scale before backward, which moves gradients too small for float16 (below 6e-8) into
/// its range, and divides the gradients by the scale before the update. If a gradient overflows, the step is skipped
/// and the scale falls; after enough good steps it grows again.
/// ```cpp
/// optim::GradScaler scaler;
/// scaler.scale(loss).backward();
/// scaler.unscale(optimizer);                 // only if gradients are clipped or inspected
/// optim::clip_grad_norm(parameters, 1.0);
/// scaler.step(optimizer, learning_rate);     // updates nothing if a gradient is infinite or NaN
/// scaler.update();
/// ```
/// Works with gradients of any precision. With ddp::DistributedDataParallel, set `refuse_non_finite` of its options to
/// false, or it throws in a step that the scaler would skip; and set any_rank. (An accelerate::Accelerator does both.)
/// Thread safety: one thread.
/// @source torch.amp.GradScaler, PyTorch 2; Micikevicius et al., "Mixed Precision Training", ICLR 2018, section 3.2.
class GradScaler {
 public:
  /// @throws ContractError  An option out of range; names it.
  explicit GradScaler(GradScalerOptions options = {});
  GradScaler(const GradScaler&) = delete;
  GradScaler& operator=(const GradScaler&) = delete;

  /// `loss` times the scale; its backward() gives gradients scaled by the same factor.
  /// @param loss  float32 or float64, any shape.
  [[nodiscard]] autograd::Variable scale(const autograd::Variable& loss);

  /// Divides the gradients of the optimizer's parameters by the scale, and notes whether one was infinite or NaN:
  /// torch's unscale_(). Parameters without a gradient are left out. Collective if any_rank is.
  /// @throws ContractError  scale() has never been called; or called twice for this optimizer since update(), or after
  ///                        its step().
  /// @cost  Two passes over the gradients; blocks the host once.
  void unscale(const Optimizer& optimizer);

  /// Whether unscale() has been called for this optimizer, by hand or by step(), since update().
  [[nodiscard]] bool is_unscaled(const Optimizer& optimizer) const { return findings_.contains(&optimizer); }

  /// Calls unscale() unless that has been done, and optimizer.step(learning_rate) if all gradients are finite on all
  /// ranks. Collective if any_rank is.
  /// @return  False: the step was skipped, on all ranks.
  /// @throws ContractError  As unscale(); called twice since update(); or no parameter has a gradient.
  bool step(Optimizer& optimizer, double learning_rate);

  /// Ends a step of all optimizers: multiplies the scale by backoff_factor if one has met an infinity, or by
  /// growth_factor after growth_interval steps in a row without one. A scale that would become infinite stays.
  /// @throws ContractError  No optimizer has been unscaled or stepped since the last update().
  void update();

  /// The scale that scale() multiplies by; 1 if the scaler is not enabled.
  [[nodiscard]] double get_scale() const noexcept { return options_.enabled ? scale_ : 1.0; }
  [[nodiscard]] bool is_enabled() const noexcept { return options_.enabled; }

  /// Under torch's names: scale, growth_factor, backoff_factor, growth_interval, _growth_tracker. Empty if the scaler
  /// is not enabled.
  [[nodiscard]] nlohmann::json state_dict() const;
  /// Continues from `state`, between steps; does nothing if the scaler is not enabled.
  /// @throws FormatError  Not such a state, or that of a scaler that was not enabled; then nothing is changed.
  void load_state_dict(const nlohmann::json& state);

 private:
  // Findings about one optimizer's gradients since update().
  struct Findings {
    bool has_gradients = false;
    bool has_non_finite = false;  // on some rank
    bool is_stepped = false;
  };
  void require_scaled(const char* called) const;

  GradScalerOptions options_;
  double scale_;
  std::int64_t growth_tracker_ = 0;  // good steps since the scale last changed
  bool has_scaled_ = false;
  std::map<const Optimizer*, Findings> findings_;
};

}  // namespace lockstep::optim
