#pragma once
/// @file
/// Ordered queues of work on a device, and markers in them.
#include <cstdint>
#include <utility>

#include "device/device.hpp"

struct CUstream_st;  // what CUDA's cudaStream_t points to
struct CUevent_st;   // what CUDA's cudaEvent_t points to

namespace lockstep {

class Event;

/// Work issued to one stream runs in issue order; work of different streams may overlap. Owns its queue; move-only. On
/// the CPU a stream is the calling thread: work is done when the call that issues it returns.
///
/// Thread safety: several threads may issue to one stream, but must order their calls themselves.
class Stream {
 public:
  /// A new queue, which does not synchronize with any other.
  /// @param device  Runs the work.
  /// @throws UnavailableError, CudaError  There is no such device, or it failed.
  explicit Stream(Device device = {});
  /// The device's default queue, which is current unless a StreamGuard changes that.
  [[nodiscard]] static Stream default_of(Device device) noexcept { return Stream(device, kDefaultId); }

  Stream(Stream&& other) noexcept
      : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)), id_(other.id_) {}
  Stream& operator=(Stream&&) = delete;
  /// Does not wait for the queue's work. Once that is done, other streams may use the memory allocated for this one.
  ~Stream();

  [[nodiscard]] Device device() const noexcept { return device_; }
  /// For calls of the CUDA runtime; null on the CPU and for a device's default queue.
  [[nodiscard]] CUstream_st* handle() const noexcept { return handle_; }
  /// kDefaultId for a device's default queue and on the CPU; else unique in this process for all time. To remember a
  /// stream, keep this and not the handle, which CUDA reuses.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  static constexpr std::uint64_t kDefaultId = 0;  ///< See id().

  /// Blocks the host until all work issued so far is done. @throws CudaError  A kernel failed.
  void synchronize() const;
  /// True if all work issued so far is done. Never blocks. @throws CudaError  A kernel failed.
  [[nodiscard]] bool is_idle() const;
  /// Work issued from here on runs after `event`. Does not block the host.
  void wait(const Event& event) const;
  /// Work issued from here on runs after all work issued to `other` so far. Does not block the host.
  void wait(const Stream& other) const;

 private:
  Stream(Device device, std::uint64_t id) noexcept : device_(device), id_(id) {}

  Device device_;
  CUstream_st* handle_ = nullptr;  // null: nothing to destroy
  std::uint64_t id_ = kDefaultId;
};

/// A marker in a stream. Owns its CUDA event; move-only. On the CPU an event is always complete.
class Event {
 public:
  /// Whether the event records the time.
  enum class Timing { kNone, kTimed };

  /// @param device  Device of the streams that it will mark.
  /// @throws UnavailableError, CudaError  There is no such device, or it failed.
  explicit Event(Device device = {}, Timing timing = Timing::kNone);
  Event(Event&& other) noexcept : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Event();

  /// Marks the end of the work issued to `stream` so far; replaces an earlier mark.
  void record(const Stream& stream);
  /// True if the work before the mark is done, or if nothing was recorded. Never blocks.
  [[nodiscard]] bool is_complete() const;
  /// Blocks the host until the event is complete. @throws CudaError  A kernel failed.
  void synchronize() const;
  /// Time from `begin` to this mark; both must be timed and complete. Meaningless on the emulator.
  [[nodiscard]] double milliseconds_since(const Event& begin) const;

  /// For calls of the CUDA runtime; null on the CPU.
  [[nodiscard]] CUevent_st* handle() const noexcept { return handle_; }

 private:
  Device device_;
  CUevent_st* handle_ = nullptr;
};

/// The stream that operations on `device` use on this thread. @return  Valid until the guard that made it current ends,
/// or as long as the thread lives.
[[nodiscard]] const Stream& current_stream(Device device);

/// Makes a stream current on this thread while it lives.
class StreamGuard {
 public:
  /// @param stream  Must outlive the guard.
  [[nodiscard]] explicit StreamGuard(const Stream& stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  Device device_;
  const Stream* outer_;
};

}  // namespace lockstep
