#pragma once
/// @file
/// Operations of streams, and points in their order.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "emulator/checker/clock.hpp"
#include "emulator/cuda/driver_types.h"
#include "emulator/cuda/lockstep_emulator/source_place.h"

namespace lockstep::emulator {

struct StreamQueue;

/// The end of an issued operation; without a queue, a point in the past.
struct Point {
  std::shared_ptr<StreamQueue> queue;
  std::uint64_t sequence = 0;  ///< From 1 in each queue.
  Clock clock;                 ///< Operations that come before; kept in checked mode only.
};

/// Bytes read or written by an operation, if the runtime knows them (copies, sets, matrix products).
struct Access {
  const std::byte* begin = nullptr;  ///< The program's address, in device or host memory.
  std::size_t bytes = 0;
  bool is_write = false;
};

/// An operation of a stream.
struct Operation {
  const char* name = "";               ///< The call that issued it.
  SourcePlace place;                   ///< Of that call, if known.
  std::function<cudaError_t()> run;    ///< Empty: only a place in the order. An error becomes the device's.
  bool is_host_function = false;       ///< Runs on a separate thread: it may wait for other streams.
  bool runs_on_failed_device = false;  ///< Otherwise it is skipped once a kernel has failed.
  bool is_launch = false;              ///< Of a kernel, whose accesses are known once it has run.
  std::vector<Access> accesses;        ///< All that are known.
  std::vector<Point> waits;            ///< Must be reached first.
  cudaEvent_t event = nullptr;         ///< Of cudaStreamWaitEvent.
  bool is_empty_wait = false;          ///< The event had not been recorded.
  std::uint64_t issue = 0;             ///< Set by the scheduler: order of issue in the process.
  Clock before;                        ///< Set by the scheduler: all that it follows; kept in checked mode only.
  SourcePlace empty_wait;              ///< Set by the scheduler: the stream's last wait for an event never recorded.
  std::chrono::microseconds delay{0};  ///< Set by the scheduler: artificial delay once it could run.
  std::optional<std::chrono::steady_clock::time_point> not_before;  ///< Set by the scheduler.
};

/// A wait for an event that had not been recorded, and so did nothing.
struct EmptyWait {
  cudaEvent_t event = nullptr;
  SourcePlace place;
};

/// A stream's relation to the legacy default stream of its device.
enum class StreamKind { kLegacy, kBlocking, kNonBlocking };

/// The scheduler's view of a stream. Its lock guards all members that are not const.
struct StreamQueue {
  StreamQueue(StreamId id_, int device_, StreamKind kind_, int priority_)
      : id(id_), device(device_), kind(kind_), priority(priority_) {}
  const StreamId id;  ///< From 1.
  const int device;
  const StreamKind kind;
  const int priority;                  ///< Lower runs first if several can run.
  std::deque<Operation> pending;       ///< Issued but not completed.
  std::uint64_t issued = 0;            ///< Operations so far.
  std::uint64_t completed = 0;         ///< Of them.
  bool is_busy = false;                ///< The first of `pending` is running.
  std::atomic<bool> is_closed{false};  ///< No more are issued.
  Clock clock;                         ///< Of the last operation issued.
  std::vector<EmptyWait> empty_waits;  ///< Of events that it has not waited for since; kept in checked mode only.
};

/// The end of the stream's last issued operation. The scheduler's lock guards both.
[[nodiscard]] inline Point tail_of(const std::shared_ptr<StreamQueue>& queue) {
  return {queue, queue->issued, queue->clock};
}
/// True if the point's operation has completed.
[[nodiscard]] inline bool is_past(const Point& point) {
  return !point.queue || point.queue->completed >= point.sequence;
}

}  // namespace lockstep::emulator
