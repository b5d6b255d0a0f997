#pragma once
/// @file
/// The streams of one device, and the order of their operations.
#include <chrono>
#include <memory>
#include <vector>

#include "emulator/runtime/operation.hpp"

namespace lockstep::emulator {

/// Orders operations as CUDA does: issue order within a stream, waits, the legacy default stream. Does not run them.
///
/// Thread safety: guarded by the scheduler's lock.
class DeviceStreams {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  std::shared_ptr<StreamQueue> open(StreamId id, int device, StreamKind kind, int priority);
  /// The legacy default stream; null before it is opened.
  [[nodiscard]] std::shared_ptr<StreamQueue> legacy() const;
  /// Stops accepting operations; those issued complete.
  void close(StreamQueue& queue);
  /// Drops all streams, and forgets the failure. @pre  Nothing is pending.
  void reset();
  /// The end points of all streams.
  [[nodiscard]] std::vector<Point> tails() const;
  /// Adds the waits that the legacy default stream implies for the operation.
  void add_implicit_waits(const StreamQueue& queue, Operation& operation) const;

  /// A stream whose first operation can run, from `at` on.
  struct Next {
    std::shared_ptr<StreamQueue> queue;  ///< Null: none can run.
    TimePoint at{};
  };
  /// Of the operations that can run, the one whose delay ends first; ties are resolved by priority, then issue order.
  [[nodiscard]] Next next(TimePoint now);
  /// Records that the first operation of the stream is done. @return  That operation, to be ended without the lock.
  [[nodiscard]] Operation complete(StreamQueue& queue, cudaError_t result);
  /// The first error of an operation, or cudaSuccess.
  [[nodiscard]] cudaError_t failure() const noexcept { return failure_; }

 private:
  void drop_if_drained(const StreamQueue& queue);

  std::vector<std::shared_ptr<StreamQueue>> queues_;  // open or not drained
  cudaError_t failure_ = cudaSuccess;
};

}  // namespace lockstep::emulator
