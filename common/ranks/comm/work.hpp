#pragma once
/// @file
/// A collective that has been issued.
#include <memory>

#include "base/deadline.hpp"
#include "device/stream.hpp"

namespace lockstep::comm {

/// One issued collective, as implemented by a backend. Kept alive by the group until the collective is done, so that
/// dropping a Work is legal.
class WorkState {
 public:
  virtual ~WorkState() = default;

  /// Makes `stream` wait for the collective; blocks the host if the collective works in host memory.
  virtual void wait(Stream& stream) = 0;

  /// Blocks the host until done; rethrows the collective's error.
  virtual void synchronize() = 0;

  /// Whether it is done or has failed. Never blocks.
  [[nodiscard]] virtual bool is_completed() const = 0;
};

/// Handle of one issued collective. Copyable; dropping it is legal (the error, if any, is thrown by the next call on
/// the group, which stays failed). Thread safety: one thread at a time.
class Work {
 public:
  /// An already completed operation.
  Work() = default;
  explicit Work(std::shared_ptr<WorkState> state) noexcept : state_(std::move(state)) {}

  /// Orders `stream` after the collective without blocking the host; on the CPU the same as synchronize().
  void wait(Stream& stream) {
    if (state_) state_->wait(stream);
  }

  /// Blocks the host until the collective is done.
  /// @throws TimeoutError, MismatchError, PeerFailedError, IoError  The collective's error.
  void synchronize() {
    if (state_) state_->synchronize();
  }

  /// True once the collective is done or has failed.
  [[nodiscard]] bool is_completed() const { return !state_ || state_->is_completed(); }

 private:
  std::shared_ptr<WorkState> state_;
};

}  // namespace lockstep::comm
