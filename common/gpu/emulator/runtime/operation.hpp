#pragma once
/// @file
/// What streams are made of: operations in order, and points in that order.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "emulator/cuda/driver_types.h"
#include "emulator/cuda/lockstep_emulator/source_place.h"
#include "emulator/runtime/clock.hpp"

namespace lockstep::emulator {

struct StreamQueue;

/// The end of an operation that was issued; without a queue, a point that lies in the past.
struct Point {
  std::shared_ptr<StreamQueue> queue;  ///< Whose operation.
  std::uint64_t sequence = 0;          ///< From 1 in each queue.
  Clock clock;                         ///< What comes before; kept in checked mode only.
};

/// Bytes that an operation reads or writes, as far as the runtime knows them (copies, sets, matrix products).
struct Access {
  const std::byte* begin = nullptr;  ///< As the program sees it: device or host memory.
  std::size_t bytes = 0;             ///< How many.
  bool is_write = false;             ///< Or a read.
};

/// Something that a stream does.
struct Operation {
  const char* name = "";               ///< The call that issued it.
  SourcePlace place;                   ///< Of that call, where known.
  std::function<cudaError_t()> run;    ///< Empty: only a place in the order. Its error becomes the device's.
  bool is_host_function = false;       ///< Runs on a thread of its own: it may wait for other streams.
  bool runs_on_failed_device = false;  ///< Else it is passed over once a kernel has failed.
  std::vector<Access> accesses;        ///< What is known of them.
  std::vector<Point> waits;            ///< Must be reached first.
  std::uint64_t issue = 0;             ///< Set by the scheduler: order of issue in the process.
  std::chrono::microseconds delay{0};  ///< Set by the scheduler: how long it lies idle once it could run.
  std::optional<std::chrono::steady_clock::time_point> not_before;  ///< Set by the scheduler.
};

/// How a stream stands to the legacy default stream of its device.
enum class StreamKind { kLegacy, kBlocking, kNonBlocking };

/// A stream as the scheduler sees it. The scheduler's lock guards what is not const.
struct StreamQueue {
  StreamQueue(StreamId id_, int device_, StreamKind kind_, int priority_)
      : id(id_), device(device_), kind(kind_), priority(priority_) {}
  const StreamId id;                   ///< From 1.
  const int device;                    ///< Where it runs.
  const StreamKind kind;               ///< Given at creation.
  const int priority;                  ///< Lower runs first where there is a choice.
  std::deque<Operation> pending;       ///< Issued and not completed.
  std::uint64_t issued = 0;            ///< Operations so far.
  std::uint64_t completed = 0;         ///< Of them.
  bool is_busy = false;                ///< The first of `pending` runs.
  std::atomic<bool> is_closed{false};  ///< No more are issued.
  Clock clock;                         ///< Of the last one issued.
};

/// The end of the last operation that the stream was given. The scheduler's lock guards both.
[[nodiscard]] inline Point tail_of(const std::shared_ptr<StreamQueue>& queue) {
  return {queue, queue->issued, queue->clock};
}
/// Whether the point's operation has completed.
[[nodiscard]] inline bool is_past(const Point& point) {
  return !point.queue || point.queue->completed >= point.sequence;
}

}  // namespace lockstep::emulator
