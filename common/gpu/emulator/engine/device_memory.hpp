#pragma once
/// @file
/// The memory of the emulated devices: one range of addresses per process, so that a glance at an address says whether
/// it is device memory, which device it belongs to, and which allocation.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "emulator/cuda/lockstep_emulator/source_place.h"
#include "emulator/engine/double_mapping.hpp"

namespace lockstep::emulator {

/// One block that a program allocated. Records live until the process ends, so a pointer to one stays valid.
struct Allocation {
  std::byte* begin = nullptr;         ///< As the program sees it; a multiple of kDeviceAlignment.
  std::size_t bytes = 0;              ///< As asked for.
  int device = 0;                     ///< Whose memory; of managed memory, who allocated it.
  bool is_managed = false;            ///< The host may use it, too.
  std::uint64_t id = 0;               ///< 1 for the first of the process.
  std::atomic<bool> is_freed{false};  ///< The program has given it back.
  SourcePlace allocated_at{};         ///< Empty where the program was compiled without places.

  /// Whether `address` lies inside. A freed block still covers its addresses until they are handed out again.
  [[nodiscard]] bool covers(const void* address) const noexcept { return address >= begin && address < begin + bytes; }
};

/// Blocks start at multiples of this, and at least as many bytes that belong to nobody follow each block.
inline constexpr std::size_t kDeviceAlignment = 512;

/// The addresses of all devices and what lies there.
///
/// Thread safety: every call from any thread. find() and alias() take no lock, so that a checker can call them for each
/// access of a kernel.
class DeviceMemory {
 public:
  /// The one of this process; made at the first call and never destroyed.
  static DeviceMemory& instance();

  /// First address of device memory; [arena_begin(), arena_begin() + arena_bytes()) never changes.
  [[nodiscard]] std::byte* arena_begin() const noexcept { return mapping_.program(); }
  /// Of all devices together, used or not.
  [[nodiscard]] std::size_t arena_bytes() const noexcept { return mapping_.bytes(); }
  /// Whether the address is one of device memory, allocated or not.
  [[nodiscard]] bool contains(const void* address) const noexcept;
  /// Whether the address lies where managed memory does, which is never closed to the host.
  [[nodiscard]] bool is_managed(const void* address) const noexcept;
  /// The live or most recently freed block that covers the address or ends below it on the same device (the access
  /// then missed that block); null where there is none, or the address is not of device memory.
  [[nodiscard]] const Allocation* find(const void* address) const;
  /// The runtime's own mapping of a device address: always readable and writable.
  [[nodiscard]] std::byte* alias(const void* address) const noexcept {
    return mapping_.alias() + (static_cast<const std::byte*>(address) - mapping_.program());
  }

  /// Opens the program's addresses, and closes them: around kernels and nothing else. Calls nest; nothing happens
  /// outside checked mode.
  void allow_access();
  /// Undoes one allow_access().
  void forbid_access();

  /// A block on a device, or null where the device's memory does not suffice. The contents are arbitrary.
  const Allocation* allocate(std::size_t bytes, int device, SourcePlace place);
  /// As allocate(), memory that the host may use, too.
  const Allocation* allocate_managed(std::size_t bytes, int device, SourcePlace place);
  /// Gives a live block back. @param begin  Its first byte. @return  False where no live block begins there.
  bool free(const void* begin);
  /// Gives back all blocks of a device.
  void free_all(int device);
  /// Bytes of a device that are not allocated.
  [[nodiscard]] std::size_t free_bytes(int device) const;
  /// Bytes of a device.
  [[nodiscard]] std::size_t device_bytes() const noexcept { return device_bytes_; }

 private:
  DeviceMemory();
  [[nodiscard]] std::size_t granule_of(const void* address) const noexcept;
  struct Region {                                // what one device has; the last one is managed memory
    std::map<std::size_t, std::size_t> extents;  // free: offset in the arena -> bytes
    std::size_t cursor = 0;                      // the search goes on from here: a freed address comes back late
    std::size_t used_bytes = 0;
  };
  struct AllocationRequest {
    std::size_t bytes;
    int device;
    bool is_managed;
    SourcePlace place;
  };
  const Allocation* allocate_in(const AllocationRequest& request);
  static std::size_t take_extent(Region& region, std::size_t bytes);
  Region& region_of(const Allocation& block);
  void release(Allocation& block);

  DoubleMapping mapping_;
  std::size_t device_bytes_ = 0;
  std::size_t region_bytes_ = 0;
  std::size_t closable_bytes_ = 0;    // all regions but the managed one
  DoubleMapping owners_mapping_;      // zero-filled, on demand
  std::atomic<Allocation*>* owners_;  // per kDeviceAlignment bytes: whose they are, gap included
  mutable std::mutex mutex_;          // guards all below
  std::vector<Region> regions_;
  std::deque<Allocation> records_;
  std::map<const void*, Allocation*> live_;
  std::mutex access_mutex_;
  int open_count_ = 0;
};

}  // namespace lockstep::emulator
