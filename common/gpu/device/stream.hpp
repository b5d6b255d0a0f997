#pragma once
/// @file
/// Ordered queues of work on a device, and marks in them.
#include <cstdint>
#include <utility>

#include "device/device.hpp"

struct CUstream_st;  // what CUDA's cudaStream_t points to
struct CUevent_st;   // what CUDA's cudaEvent_t points to

namespace lockstep {

class Event;

/// Work issued to one stream runs in issue order; work of different streams may overlap. Owns its queue; move-only.
/// On the CPU a stream is the calling thread: whatever is issued has run when the call returns.
///
/// Thread safety: several threads may issue to one stream; the order between them is theirs to arrange.
class Stream {
 public:
  /// A new queue, which waits for no other one.
  /// @param device  Where its work runs.
  /// @throws UnavailableError, CudaError  There is no such device, or it failed.
  explicit Stream(Device device = {});
  /// The queue that a device has from the start, and that is current unless a StreamGuard changes that.
  [[nodiscard]] static Stream default_of(Device device) noexcept { return Stream(device, kDefaultId); }

  /// Takes the other's queue.
  Stream(Stream&& other) noexcept
      : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)), id_(other.id_) {}
  Stream& operator=(Stream&&) = delete;
  /// Does not wait for the queue's work. Memory that was allocated for it goes to other streams once that is done.
  ~Stream();

  /// Where its work runs.
  [[nodiscard]] Device device() const noexcept { return device_; }
  /// For calls of CUDA's runtime; null on the CPU and for a device's own queue.
  [[nodiscard]] CUstream_st* handle() const noexcept { return handle_; }
  /// kDefaultId for a device's own queue and on the CPU; else a number that no other stream of this process ever has.
  /// To remember a stream, keep this and not the handle, which CUDA gives to the next stream.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  static constexpr std::uint64_t kDefaultId = 0;  ///< See id().

  /// Blocks the host until everything issued so far is done. @throws CudaError  A kernel failed.
  void synchronize() const;
  /// Whether everything issued so far is done. Never blocks. @throws CudaError  A kernel failed.
  [[nodiscard]] bool is_idle() const;
  /// What is issued from here on runs after `event`. Does not block the host.
  void wait(const Event& event) const;
  /// What is issued from here on runs after everything issued to `other` so far. Does not block the host.
  void wait(const Stream& other) const;

 private:
  Stream(Device device, std::uint64_t id) noexcept : device_(device), id_(id) {}

  Device device_;
  CUstream_st* handle_ = nullptr;  // null: nothing to destroy
  std::uint64_t id_ = kDefaultId;
};

/// A mark in a stream. Owns its CUDA event; move-only. On the CPU an event is always over.
class Event {
 public:
  /// Whether marks take the time.
  enum class Timing { kNone, kTimed };

  /// @param device  Of the streams that it will mark.
  /// @throws UnavailableError, CudaError  There is no such device, or it failed.
  explicit Event(Device device = {}, Timing timing = Timing::kNone);
  /// Takes the other's event.
  Event(Event&& other) noexcept : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}
  /// Exchanges events with the other.
  Event& operator=(Event&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Event();

  /// Marks the end of what has been issued to `stream`; an earlier mark is forgotten.
  void record(const Stream& stream);
  /// Whether what stands before the mark is done; true where nothing is marked. Never blocks.
  [[nodiscard]] bool is_complete() const;
  /// Blocks the host until then. @throws CudaError  A kernel failed.
  void synchronize() const;
  /// From `begin` to this mark, both timed, recorded and over. On the emulator no measure of anything.
  [[nodiscard]] double milliseconds_since(const Event& begin) const;

  /// For calls of CUDA's runtime; null on the CPU.
  [[nodiscard]] CUevent_st* handle() const noexcept { return handle_; }

 private:
  Device device_;
  CUevent_st* handle_ = nullptr;
};

/// The stream to which operations on `device` go on this thread. @return  Valid until the guard that made it current
/// ends, or as long as the thread lives.
[[nodiscard]] const Stream& current_stream(Device device);

/// Makes a stream current on this thread while it lives.
class StreamGuard {
 public:
  /// @param stream  Must outlive the guard.
  explicit StreamGuard(const Stream& stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  Device device_;
  const Stream* outer_;
};

}  // namespace lockstep
