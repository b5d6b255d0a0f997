#pragma once
/// @file
/// A training loop's position among the micro-batches of a step, shared by the accelerator and everything it has
/// prepared.
#include <cstdint>
#include <set>
#include <vector>

namespace lockstep::optim {
class GradScaler;
class Optimizer;
}  // namespace lockstep::optim

namespace lockstep::accelerate {

class OrderShard;
class Profile;

/// Shared by an accelerator and its prepared objects. The *window* is the micro-batches whose gradients add up to one
/// step. Thread safety: none.
/// @source accelerate.state.GradientState, Hugging Face Accelerate 1.
struct GradientState {
  bool sync_gradients = true;                   ///< The current micro-batch is the last of its window.
  std::int64_t micro_batches = 0;               ///< In the current window, including this one.
  bool has_accumulated = false;                 ///< backward() has run in this window.
  bool is_backward_done = false;                ///< backward() has run in this micro-batch.
  bool is_joined = false;                       ///< Within join_uneven_inputs().
  optim::GradScaler* scaler = nullptr;          ///< The accelerator's; null: losses are not scaled.
  bool is_scale_due = false;                    ///< The scaler has stepped an optimizer since its last update().
  Profile* profile = nullptr;                   ///< The running one, or null.
  std::set<const optim::Optimizer*> skipped{};  ///< Optimizers whose last step was skipped.

  std::vector<const OrderShard*> iterated{};  ///< The prepared loaders being iterated, innermost last.

  /// The loader being iterated that handed out a batch last: the loop's body works on that batch. Null if there is
  /// none, so that the body gets its batches elsewhere.
  [[nodiscard]] const OrderShard* active() const noexcept { return iterated.empty() ? nullptr : iterated.back(); }
  /// Call when `shard`'s loader hands out a batch.
  void enter(const OrderShard& shard) {
    leave(shard);
    iterated.push_back(&shard);
  }
  /// Call when the iteration of `shard`'s loader is over: the previously active loader becomes active again.
  void leave(const OrderShard& shard) noexcept { std::erase(iterated, &shard); }

  /// Forgets the window; a loaded checkpoint continues with a new one.
  void begin_anew() {
    sync_gradients = true;
    micro_batches = 0;
    has_accumulated = is_backward_done = is_scale_due = false;
    skipped.clear();
  }
  /// Whether zero_grad() may clear: never between the micro-batches of a window, wherever the loop calls it.
  [[nodiscard]] bool may_clear() const noexcept { return !has_accumulated || (sync_gradients && is_backward_done); }
  /// Whether gradients are waiting for more micro-batches.
  [[nodiscard]] bool is_within_window() const noexcept { return has_accumulated && !sync_gradients; }
};

}  // namespace lockstep::accelerate
