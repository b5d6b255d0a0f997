#pragma once
/// @file
/// The memory of the emulated devices: one address range per process, so that an address alone shows if it is device
/// memory, on which device, and in which allocation.
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

/// One block that a program allocated. Records live until the process ends, so pointers to them stay valid.
struct Allocation {
  std::byte* begin = nullptr;  ///< The program's address; a multiple of kDeviceAlignment.
  std::size_t bytes = 0;       ///< As requested.
  int device = 0;              ///< Of managed memory, the device that allocated it.
  bool is_managed = false;     ///< The host may use it too.
  std::uint64_t id = 0;        ///< From 1, in order of allocation in the process.
  std::atomic<bool> is_freed{false};
  SourcePlace allocated_at{};  ///< Empty if the program was compiled without source places.

  /// True if `address` lies inside. A freed block keeps covering its addresses until they are reused.
  [[nodiscard]] bool covers(const void* address) const noexcept { return address >= begin && address < begin + bytes; }
};

/// Alignment of blocks, and minimum size of the unused gap after each block.
inline constexpr std::size_t kDeviceAlignment = 512;

/// The address range of all devices, and the allocations in it.
///
/// Thread safety: every call from any thread. alias() takes no lock, and find() only for an address that no block has
/// ever covered, so that a checker can call them for every access of a kernel.
class DeviceMemory {
 public:
  /// The instance of this process; made at the first call and never destroyed.
  static DeviceMemory& instance();

  /// First address of device memory; [arena_begin(), arena_begin() + arena_bytes()) never changes.
  [[nodiscard]] std::byte* arena_begin() const noexcept { return mapping_.program(); }
  /// Size of all devices' memory, allocated or not.
  [[nodiscard]] std::size_t arena_bytes() const noexcept { return mapping_.bytes(); }
  /// True if the address is in device memory, allocated or not.
  [[nodiscard]] bool contains(const void* address) const noexcept;
  /// True if the address is in managed memory, which is never closed to the host.
  [[nodiscard]] bool is_managed(const void* address) const noexcept;
  /// The live or most recently freed block that covers the address, or the last block below it on the same device (the
  /// access then missed that block). Null if there is none, or the address is not in device memory.
  [[nodiscard]] const Allocation* find(const void* address) const;
  /// The runtime's alias of a device address, which is always readable and writable.
  [[nodiscard]] std::byte* alias(const void* address) const noexcept {
    return mapping_.alias() + (static_cast<const std::byte*>(address) - mapping_.program());
  }

  /// Opens the program's addresses while a kernel runs. Calls nest. Does nothing outside checked mode.
  void allow_access();
  /// Undoes one allow_access().
  void forbid_access();

  /// Allocates a block on a device; null if there is not enough memory. The contents are arbitrary.
  const Allocation* allocate(std::size_t bytes, int device, SourcePlace place);
  /// As allocate(), for memory that the host may use too.
  const Allocation* allocate_managed(std::size_t bytes, int device, SourcePlace place);
  /// Frees a live block. @param begin  Its first byte. @return  False if no live block begins there.
  bool free(const void* begin);
  void free_all(int device);
  [[nodiscard]] std::size_t free_bytes(int device) const;
  /// Memory size of each device.
  [[nodiscard]] std::size_t device_bytes() const noexcept { return device_bytes_; }

 private:
  DeviceMemory();
  [[nodiscard]] std::size_t granule_of(const void* address) const noexcept;
  struct Region {                                // one device's memory; the last region is managed memory
    std::map<std::size_t, std::size_t> extents;  // free: offset in the arena -> bytes
    std::size_t cursor = 0;  // the search continues from here, so that freed addresses are reused late
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
  std::size_t closable_bytes_ = 0;    // all regions except the managed one
  DoubleMapping owners_mapping_;      // zero-filled, on demand
  std::atomic<Allocation*>* owners_;  // per kDeviceAlignment bytes: the owning block, gap included
  mutable std::mutex mutex_;          // guards the three members below
  std::vector<Region> regions_;
  std::deque<Allocation> records_;
  std::map<const void*, Allocation*> live_;
  std::mutex access_mutex_;  // guards open_count_
  int open_count_ = 0;
};

}  // namespace lockstep::emulator
