#pragma once
/// @file
/// Streams and events as programs hold them.
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "emulator/runtime/operation.hpp"

namespace lockstep::emulator {

/// One record of an event.
struct EventRecord {
  Point point;                                   ///< Its place in the stream.
  std::chrono::steady_clock::time_point when{};  ///< Set before the point is reached.
};

/// An event as the runtime sees it.
struct EventState {
  unsigned flags = 0;                   ///< As given at creation.
  int device = 0;                       ///< Whose streams may record it.
  std::shared_ptr<EventRecord> record;  ///< The last one, or null.
};

/// Which handles are valid, and what they stand for. A handle is no pointer: reading it is not possible. As in CUDA, a
/// destroyed one becomes the next that is made: a program that goes by a stream it has destroyed then meets another. In
/// checked mode each is given once, so that a destroyed one is always told from a live one. Thread safety: every call
/// from any thread.
class Handles {
 public:
  /// The one of this process; never destroyed.
  static Handles& instance();

  /// A handle for a stream.
  cudaStream_t add(std::shared_ptr<StreamQueue> queue);
  /// The stream. Null, cudaStreamLegacy and cudaStreamPerThread stand for those of the current device.
  /// @throws ApiError  The handle is of no live stream.
  std::shared_ptr<StreamQueue> queue(cudaStream_t stream);
  /// Makes the handle invalid. @throws ApiError  It is not of a live stream, or of a default stream.
  std::shared_ptr<StreamQueue> remove(cudaStream_t stream);

  /// A handle for an event.
  cudaEvent_t add(const EventState& event);
  /// A copy of the event's state. @throws ApiError  The handle is of no live event.
  EventState event(cudaEvent_t event);
  /// Replaces the event's record. @throws ApiError  The handle is of no live event.
  void set_record(cudaEvent_t event, std::shared_ptr<EventRecord> record);
  /// Makes the handle invalid. @throws ApiError  It is of no live event.
  void remove(cudaEvent_t event);

  /// Makes the handles of a device's streams and events invalid.
  void remove_all(int device);

 private:
  using Numbers = std::vector<std::uintptr_t>;
  std::uintptr_t take(Numbers& destroyed);

  std::mutex mutex_;
  std::uintptr_t next_ = 0x1000;  // above the constants that stand for default streams
  Numbers destroyed_streams_, destroyed_events_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<StreamQueue>> streams_;
  std::unordered_map<std::uintptr_t, EventState> events_;
};

}  // namespace lockstep::emulator
