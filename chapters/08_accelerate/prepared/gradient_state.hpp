#pragma once
/// @file
/// Where a training loop stands among the micro-batches of a step: what the accelerator and everything that it has
/// prepared must agree on.
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
  bool sync_gradients = true;                   ///< The running micro-batch is the last of its window.
  std::int64_t micro_batches = 0;               ///< Of the window that runs, this one included.
  bool has_accumulated = false;                 ///< backward() has run in this window.
  bool is_backward_done = false;                ///< backward() has run in this micro-batch.
  bool is_joined = false;                       ///< Within join_uneven_inputs().
  optim::GradScaler* scaler = nullptr;          ///< Of the accelerator; null: losses are not scaled.
  bool is_scale_due = false;                    ///< An optimizer has stepped by the scaler since its last update().
  Profile* profile = nullptr;                   ///< That is running; null: none.
  std::set<const optim::Optimizer*> skipped{};  ///< Optimizers whose last step was skipped.

  std::vector<const OrderShard*> iterated{};  ///< Of the prepared loaders that are being iterated.

  /// Of those being iterated, the loader that handed out a batch last: the batch that the loop's body works on. Null:
  /// none is, so the body has its batches from elsewhere.
  [[nodiscard]] const OrderShard* active() const noexcept { return iterated.empty() ? nullptr : iterated.back(); }
  /// `shard`'s loader has handed out a batch.
  void enter(const OrderShard& shard) {
    leave(shard);
    iterated.push_back(&shard);
  }
  /// The iteration of `shard`'s loader is over: the loader that was active before it is active again.
  void leave(const OrderShard& shard) noexcept { std::erase(iterated, &shard); }

  /// Forgets the window; a checkpoint's training begins with a new one.
  void begin_anew() {
    sync_gradients = true;
    micro_batches = 0;
    has_accumulated = is_backward_done = is_scale_due = false;
    skipped.clear();
  }
  /// Whether zero_grad() may clear: not between the micro-batches of a window, wherever the loop calls it.
  [[nodiscard]] bool may_clear() const noexcept { return !has_accumulated || (sync_gradients && is_backward_done); }
  /// Whether gradients are waiting for more micro-batches.
  [[nodiscard]] bool is_within_window() const noexcept { return has_accumulated && !sync_gradients; }
};

}  // namespace lockstep::accelerate
