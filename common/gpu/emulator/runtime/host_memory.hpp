#pragma once
/// @file
/// Pinned host memory, from cudaMallocHost or cudaHostRegister.
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "emulator/checker/clock.hpp"
#include "emulator/cuda/lockstep_emulator/source_place.h"
#include "emulator/engine/double_mapping.hpp"

namespace lockstep::emulator {

/// All pinned memory of the process. Memory that it allocates is mapped twice, so that the program's address can be
/// closed until the host has waited for a copy; registered memory stays open.
///
/// Thread safety: every call from any thread.
class HostMemory {
 public:
  /// The instance of this process; never destroyed.
  static HostMemory& instance();

  /// A block of whole pages, or null if the system refuses. @param device  Frees it when it is reset.
  /// @param flags  The program's, of cudaHostAlloc.
  std::byte* allocate(std::size_t bytes, int device, unsigned flags);
  /// Frees a block of allocate(). @return  False if none begins there.
  bool free(const void* begin);
  /// Registers memory of the program as pinned. @param device  Undoes that when it is reset.
  /// @param flags  The program's. @return  False if a part of it is already pinned.
  bool add_registered(void* begin, std::size_t bytes, int device, unsigned flags);
  /// Undoes add_registered(). @return  False if none begins there.
  bool remove_registered(const void* begin);

  /// The first addresses of all memory that was allocated or registered for the device.
  [[nodiscard]] std::vector<const std::byte*> all_of(int device) const;
  /// True if a block of allocate() begins there.
  [[nodiscard]] bool is_allocated(const void* begin) const;
  /// True if memory of add_registered() begins there.
  [[nodiscard]] bool is_registered(const void* begin) const;

  /// A pinned block.
  struct Block {
    std::byte* begin = nullptr;  ///< The program's address.
    std::size_t bytes = 0;       ///< As requested.
    int device = 0;              ///< For which it was allocated or registered.
    unsigned flags = 0;          ///< With which it was allocated or registered.
  };
  /// The pinned block that covers the address, if any.
  [[nodiscard]] std::optional<Block> find(const void* address) const;
  /// The runtime's address of the same byte.
  [[nodiscard]] std::byte* alias(const void* address) const;

  /// Memory that an operation uses.
  struct Use {
    const std::byte* begin = nullptr;  ///< In any memory; only that from allocate() is guarded.
    std::size_t bytes = 0;
    bool is_write = false;
  };
  /// An operation of a stream.
  struct User {
    StreamId stream = 0;
    std::uint64_t sequence = 0;
    const char* name = "";
    SourcePlace place;
  };
  /// Guards the pages that lie entirely in the used bytes until the host has waited for the operation: from all its
  /// accesses if the operation writes them, else from its writes.
  void guard_until(const Use& use, const User& user);
  /// Opens pages that wait for an operation covered by `clock`.
  void open_covered(const Clock& clock);
  /// Why a page is guarded.
  struct Guard {
    User user;
    bool is_write = false;  ///< The operation writes.
  };
  /// Opens the page of the address unconditionally. @return  Why it was guarded; none if it was open.
  std::optional<Guard> open_page(const void* address);

 private:
  struct Entry {
    std::size_t bytes = 0;
    int device = 0;
    unsigned flags = 0;
    std::optional<DoubleMapping> mapping;  // none: registered
  };
  struct Guarded {
    std::byte* block = nullptr;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    Guard guard;
  };
  using Entries = std::map<const std::byte*, Entry>;
  [[nodiscard]] Entries::const_iterator find_locked(const void* address) const;
  void guard(const Guarded& pages) const;
  void guard_all() const;

  mutable std::recursive_mutex mutex_;  // recursive: a fault handler may run while this thread holds it
  Entries entries_;
  std::vector<Guarded> guarded_;
};

}  // namespace lockstep::emulator
