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

/// A block of bytes on one device, shared by every tensor and collective that uses it; freed (returned to the cache)
/// with the last reference. 64-byte aligned; uninitialised. Thread safety: as std::shared_ptr.
class Storage {
 public:
  /// Allocates `bytes` (may be 0) from the device's caching allocator: a block freed by one step is taken up by the
  /// next without a system call. On a device it is for work on the stream that is current (device/stream.hpp).
  /// @throws Error             Out of memory.
  /// @throws UnavailableError  A device that this build or machine does not have.
  [[nodiscard]] static std::shared_ptr<Storage> allocate(std::size_t bytes, Device device = {});

  /// Host memory that the device's copy engines reach without staging; from a cache too.
  /// @param device  That copies to or from it; for the CPU ordinary memory.
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

  /// First byte, for reading and writing; on whatever device it lives. Waits while another thread reads the bytes under
  /// a ReadLock (device/read_lock.hpp).
  [[nodiscard]] std::byte* data() const noexcept {
    write_accesses_.fetch_add(1, std::memory_order_relaxed);
    if (read_locks_.load(std::memory_order_acquire) != 0) wait_for_readers();
    return data_;
  }
  /// First byte, for reading only; never waits.
  [[nodiscard]] const std::byte* const_data() const noexcept { return data_; }
  /// How often data() has been called. What was computed from these bytes is still right where the number is the same,
  /// as long as nobody writes through an address from before.
  [[nodiscard]] std::uint64_t write_accesses() const noexcept {
    return write_accesses_.load(std::memory_order_relaxed);
  }
  /// As allocated or wrapped.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Where the memory lives.
  [[nodiscard]] Device device() const noexcept { return device_; }

  /// To be called after work that uses this memory has been issued to a stream other than the one that was current when
  /// it was allocated; for pinned memory after any: once freed, it is not reused before that work is done. Nothing for
  /// ordinary host memory and for wrapped memory.
  void record_use(const Stream& stream) const;

 private:
  friend class ReadLock;
  void wait_for_readers() const noexcept;

  std::byte* data_;
  std::size_t bytes_;
  Device device_;
  std::shared_ptr<void> owner_;  // gives the block back, or keeps wrapped memory alive
  DeviceAllocator* allocator_;   // of device or pinned memory; null for other
  mutable std::atomic<std::uint64_t> write_accesses_{0};
  mutable std::atomic<int> read_locks_{0};
};

/// What the caching allocator of one device holds, in bytes.
struct AllocatorStatistics {
  std::size_t bytes_in_use = 0;        ///< Handed out and not yet given back.
  std::size_t bytes_cached = 0;        ///< Free, kept for the next allocation; of new pages maybe not touched yet.
  std::size_t peak_bytes_in_use = 0;   ///< Since start or reset_peak().
  std::size_t system_allocations = 0;  ///< How often the cache had to ask the system.
};

/// @param device  Whose allocator.
[[nodiscard]] AllocatorStatistics allocator_statistics(Device device = {});

/// Starts a new measurement of peak_bytes_in_use.
void reset_peak(Device device = {});

/// Gives cached blocks back to the system.
void release_cached_memory(Device device = {});

}  // namespace lockstep
