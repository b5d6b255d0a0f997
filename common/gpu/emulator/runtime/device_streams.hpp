#pragma once
/// @file
/// The streams of one device, and which of their operations comes next.
#include <chrono>
#include <memory>
#include <vector>

#include "emulator/runtime/operation.hpp"

namespace lockstep::emulator {

/// Orders operations as CUDA does: issue order within a stream, waits, the legacy default stream. Runs nothing.
///
/// Thread safety: the scheduler's lock guards it.
class DeviceStreams {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// A new stream.
  std::shared_ptr<StreamQueue> open(StreamId id, int device, StreamKind kind, int priority);
  /// The legacy default stream; null before it is opened.
  [[nodiscard]] std::shared_ptr<StreamQueue> legacy() const;
  /// The stream takes no more operations; those issued complete.
  void close(StreamQueue& queue);
  /// Drops all streams, and forgets the failure. @pre  Nothing is pending.
  void reset();
  /// The ends of all streams.
  [[nodiscard]] std::vector<Point> tails() const;
  /// Adds to the operation's waits what the legacy default stream makes it wait for.
  void add_implicit_waits(const StreamQueue& queue, Operation& operation) const;

  /// A stream whose first operation could run, from `at` on.
  struct Next {
    std::shared_ptr<StreamQueue> queue;  ///< Null: none can run.
    TimePoint at{};
  };
  /// Of the operations that could run, the one whose delay ends first; among equals by priority, then in issue order.
  [[nodiscard]] Next next(TimePoint now);
  /// The first operation of the stream is done.
  void complete(StreamQueue& queue, cudaError_t result);
  /// The first error of an operation, or cudaSuccess.
  [[nodiscard]] cudaError_t failure() const noexcept { return failure_; }

 private:
  void drop_if_drained(const StreamQueue& queue);

  std::vector<std::shared_ptr<StreamQueue>> queues_;  // open or not drained
  cudaError_t failure_ = cudaSuccess;
};

}  // namespace lockstep::emulator
