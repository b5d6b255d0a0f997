#pragma once
/// @file
/// The handles of streams and events that programs hold.
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "emulator/runtime/capture.hpp"
#include "emulator/runtime/operation.hpp"

namespace lockstep::emulator {

/// One record of an event.
struct EventRecord {
  Point point;
  std::chrono::steady_clock::time_point when{};  ///< Set before the point is reached.
  std::optional<CaptureMark> captured;           ///< If the stream was captured: the record is of no time.
};

/// The runtime's view of an event.
struct EventState {
  unsigned flags = 0;                   ///< As given at creation.
  int device = 0;                       ///< Only its streams may record the event.
  std::shared_ptr<EventRecord> record;  ///< The last one, or null.
};

/// Maps handles to streams and events. A handle is not a pointer: dereferencing it faults. As in CUDA, the next stream
/// or event reuses the handle of a destroyed one, so a program that uses a destroyed stream gets a different one. In
/// checked mode handles are never reused, so that use after destruction is always detected. Thread safety: every call
/// from any thread.
class Handles {
 public:
  /// The instance of this process; never destroyed.
  static Handles& instance();

  cudaStream_t add(std::shared_ptr<StreamQueue> queue);
  /// Null, cudaStreamLegacy and cudaStreamPerThread mean those of the current device.
  /// @throws ApiError  The handle is not that of a live stream.
  std::shared_ptr<StreamQueue> queue(cudaStream_t stream);
  /// Invalidates the handle. @throws ApiError  It is not that of a live stream, or it is a default stream's.
  std::shared_ptr<StreamQueue> remove(cudaStream_t stream);

  cudaEvent_t add(const EventState& event);
  /// A copy of the event's state. @throws ApiError  The handle is not that of a live event.
  EventState event(cudaEvent_t event);
  /// Replaces the event's record. @throws ApiError  The handle is not that of a live event.
  void set_record(cudaEvent_t event, std::shared_ptr<EventRecord> record);
  /// Invalidates the handle. @throws ApiError  It is not that of a live event.
  void remove(cudaEvent_t event);

  /// Invalidates the handles of a device's streams and events.
  void remove_all(int device);

 private:
  using Numbers = std::vector<std::uintptr_t>;
  std::uintptr_t take(Numbers& destroyed);

  std::mutex mutex_;
  std::uintptr_t next_ = 0x1000;  // above the constants for default streams
  Numbers destroyed_streams_, destroyed_events_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<StreamQueue>> streams_;
  std::unordered_map<std::uintptr_t, EventState> events_;
};

}  // namespace lockstep::emulator
