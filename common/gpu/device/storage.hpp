#pragma once
/// @file
/// Reference-counted memory on one device, from a caching allocator.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "device/device.hpp"

namespace lockstep {

class DeviceAllocator;
class Stream;

/// A block of bytes on one device, shared by every tensor and collective that uses it; returned to the cache with the
/// last reference. 64-byte aligned; uninitialised. Thread safety: as std::shared_ptr.
class Storage {
 public:
  /// Allocates `bytes` (may be 0) from the device's caching allocator: a block freed by one step is reused by the next
  /// without a system call. On a device the block is for work on the current stream (device/stream.hpp).
  /// @throws Error             Out of memory.
  /// @throws UnavailableError  A device that this build or machine does not have.
  [[nodiscard]] static std::shared_ptr<Storage> allocate(std::size_t bytes, Device device = {});

  /// Host memory that the device can copy without staging; also cached.
  /// @param device  The device that copies; for the CPU, ordinary memory is returned.
  /// @throws Error  Out of memory.
  [[nodiscard]] static std::shared_ptr<Storage> allocate_pinned(std::size_t bytes, Device device);

  /// Wraps memory that `owner` keeps alive, for example memory registered with a process group.
  [[nodiscard]] static std::shared_ptr<Storage> wrap(std::byte* data, std::size_t bytes, Device device,
                                                     std::shared_ptr<void> owner);

  /// Use allocate() or wrap().
  Storage(std::byte* data, std::size_t bytes, Device device, std::shared_ptr<void> owner,
          DeviceAllocator* allocator = nullptr) noexcept
      : data_(data), bytes_(bytes), device_(device), owner_(std::move(owner)), allocator_(allocator) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  /// First byte, for reading and writing; a device address if the memory is on a device. Waits while another thread
  /// reads the bytes under a ReadLock (device/read_lock.hpp).
  [[nodiscard]] std::byte* data() const noexcept {
    write_accesses_.fetch_add(1, std::memory_order_relaxed);
    if (read_locks_.load(std::memory_order_acquire) != 0) wait_for_readers();
    return data_;
  }
  /// First byte, for reading only; never waits.
  [[nodiscard]] const std::byte* const_data() const noexcept { return data_; }
  /// Number of calls of data(). Results computed from these bytes are still valid if the number is unchanged, as long
  /// as no one writes through an address obtained before.
  [[nodiscard]] std::uint64_t write_accesses() const noexcept {
    return write_accesses_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] Device device() const noexcept { return device_; }

  /// Call after issuing work that uses this memory to a stream other than the one that was current when it was
  /// allocated; for pinned memory, after work on any stream. Once freed, the memory is not reused before that work is
  /// done. Does nothing for ordinary host memory and for wrapped memory.
  void record_use(const Stream& stream) const;

 private:
  friend class ReadLock;
  void wait_for_readers() const noexcept;

  std::byte* data_;
  std::size_t bytes_;
  Device device_;
  std::shared_ptr<void> owner_;  // returns the block, or keeps wrapped memory alive
  DeviceAllocator* allocator_;   // for device or pinned memory; else null
  mutable std::atomic<std::uint64_t> write_accesses_{0};
  mutable std::atomic<int> read_locks_{0};
};

/// Contents of the caching allocator of one device, in bytes.
struct AllocatorStatistics {
  std::size_t bytes_in_use = 0;
  std::size_t bytes_cached = 0;        ///< Free, kept for reuse; new pages may not have been touched yet.
  std::size_t peak_bytes_in_use = 0;   ///< Since start or reset_peak().
  std::size_t system_allocations = 0;  ///< Number of times that the cache asked the system for memory.
};

/// @param device  Whose allocator.
[[nodiscard]] AllocatorStatistics allocator_statistics(Device device = {});

void reset_peak(Device device = {});

void release_cached_memory(Device device = {});

}  // namespace lockstep
