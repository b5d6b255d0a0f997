#pragma once
/// @file
/// Classifies the addresses of a kernel's accesses.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "emulator/checker/binary_images.hpp"
#include "emulator/checker/shadow_range.hpp"
#include "emulator/engine/device_memory.hpp"
#include "emulator/engine/execution.hpp"

namespace lockstep::emulator::checker {

/// The kind of memory at an address, from a kernel's point of view.
enum class Space {
  kGlobal,          ///< From cudaMalloc, allocated or not.
  kDynamicShared,   ///< The block's; its size is set by the launch.
  kStaticShared,    ///< `__shared__` variables: static data of the program.
  kDeviceVariable,  ///< `__device__` and `__constant__` variables.
  kUnwatched,       ///< The thread's stack, kernel parameters, threadIdx and so on, constants of the program.
  kHost,            ///< Anything else.
};

/// True for shared memory, static or dynamic: it ends with its block.
constexpr bool is_of_block(Space space) noexcept {
  return space == Space::kDynamicShared || space == Space::kStaticShared;
}

/// An address's kind and its shadow.
struct Target {
  Space space = Space::kUnwatched;
  ShadowRange* shadow = nullptr;  ///< Null for kinds without one.
  std::size_t offset = 0;         ///< In `shadow`.
};

/// All known address ranges. Thread safety: none; guarded by the checker's lock.
class MemoryMap {
 public:
  MemoryMap();

  /// Finds libraries loaded since the last call, and forgets what it knew of allocations: for a launch that begins.
  void refresh();
  /// Forgets the order of all accesses so far: between launches.
  void forget_order();
  /// Sets the dynamic shared memory of the block that begins.
  void set_dynamic_shared(std::span<std::byte> memory);

  /// Classifies an address that this thread uses.
  Target find(const void* address, const ThreadState& thread, bool is_write) {
    if (global_.contains(address)) return at(Space::kGlobal, global_, address);
    const auto* const byte = static_cast<const std::byte*>(address);
    if (byte >= thread.stack_begin && byte < thread.stack_end) return {};
    if (dynamic_ != nullptr && dynamic_->contains(address)) return at(Space::kDynamicShared, *dynamic_, address);
    if (last_shared_.contains(reinterpret_cast<std::uintptr_t>(address))) {
      return at(Space::kStaticShared, *last_static_->shadow, address);
    }
    return find_rare(address, is_write);
  }
  /// The cell of an access to four aligned bytes of a live allocation, if it is found at once; else null.
  [[nodiscard]] Cell* usual_cell(const void* address, std::size_t bytes) const noexcept {
    if (!global_.contains(address)) return nullptr;
    if (bytes != ShadowRange::kCellBytes || reinterpret_cast<std::uintptr_t>(address) % bytes != 0) return nullptr;
    if (!is_in_known_allocation(address, bytes)) return nullptr;
    return global_.whole_cell(static_cast<std::size_t>(static_cast<const std::byte*>(address) - global_.begin()));
  }
  /// True if the whole access lies in one allocation, or in the shared memory or variable in which it begins.
  bool is_allocated(const Target& target, const void* address, std::size_t bytes) {
    if (target.space == Space::kGlobal && is_in_known_allocation(address, bytes)) return true;
    return is_allocated_elsewhere(target, address, bytes);
  }

  /// The target of the host's own calls: global memory and device variables; the shadow is null for anything else.
  Target find_for_host(const void* address);
  /// Registers host memory that kernels may use.
  void allow_host(const void* begin, std::size_t bytes) { host_ranges_[begin] = bytes; }
  /// Undoes allow_host().
  void disallow_host(const void* begin) { host_ranges_.erase(begin); }

  /// For example "dynamic shared memory, byte 12", "global memory, byte 4 of allocation #2 (64 bytes)".
  std::string describe(Space space, const void* address) const;
  /// Explains why is_allocated() rejects an access.
  std::string describe_miss(Space space, const void* address, std::size_t bytes) const;
  /// True if the block that contained the address has been freed.
  [[nodiscard]] bool is_freed(const void* address) const;

 private:
  struct StaticRange {
    AddressRange range;
    std::size_t image = 0;
    std::unique_ptr<ShadowRange> shadow;  // null: not yet accessed by a kernel
    std::vector<DataSymbol> shared;       // function-local variables, by address
    [[nodiscard]] bool contains(const void* address) const noexcept {
      return range.contains(reinterpret_cast<std::uintptr_t>(address));
    }
  };
  static Target at(Space space, ShadowRange& shadow, const void* address) {
    return {space, &shadow, static_cast<std::size_t>(static_cast<const std::byte*>(address) - shadow.begin())};
  }
  [[nodiscard]] bool is_in_known_allocation(const void* address, std::size_t bytes) const noexcept {
    for (const std::span<const std::byte> known : known_allocations_) {
      const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - known.data());
      if (offset < known.size() && bytes <= known.size() - offset) return true;
    }
    return false;
  }
  bool is_allocated_elsewhere(const Target& target, const void* address, std::size_t bytes);
  Target at_static(StaticRange& range, const void* address);
  static const DataSymbol* shared_variable(const StaticRange& range, const void* address);
  Target find_rare(const void* address, bool is_write);
  StaticRange* find_static(const void* address);
  [[nodiscard]] bool is_usable_host(const void* address, bool is_write) const;

  DeviceMemory& memory_;
  ShadowRange global_;
  std::unique_ptr<ShadowRange> dynamic_;  // with a margin on both sides for overruns
  std::span<std::byte> dynamic_bytes_;
  std::vector<BinaryImage> images_;
  std::uint64_t image_generation_ = 0;
  std::vector<StaticRange> statics_;
  StaticRange* last_static_ = nullptr;  // target of the last access
  AddressRange last_shared_;            // variable of the last access
  // Live allocations that this launch has used; a kernel uses a few by turns.
  std::array<std::span<const std::byte>, 4> known_allocations_{};
  std::size_t oldest_known_ = 0;  // in known_allocations_
  std::map<const void*, std::size_t> host_ranges_;
};

/// "global memory, byte 4 of allocation #2 (64 bytes)". Thread safety: any thread.
std::string describe_global(const void* address);

}  // namespace lockstep::emulator::checker
