#pragma once
/// @file
/// Pinned host memory: what cudaMallocHost hands out and cudaHostRegister makes known.
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "emulator/engine/double_mapping.hpp"
#include "emulator/runtime/clock.hpp"

namespace lockstep::emulator {

/// All pinned memory of the process. Memory that it allocates is mapped twice, so that the program's address can be
/// closed while a copy to it has not been waited for; registered memory stays open.
///
/// Thread safety: every call from any thread.
class HostMemory {
 public:
  /// The one of this process; never destroyed.
  static HostMemory& instance();

  /// A block of whole pages, or null where the system refuses.
  std::byte* allocate(std::size_t bytes);
  /// Gives a block of allocate() back. @return  False where none begins there.
  bool free(const void* begin);
  /// Makes memory of the program known as pinned. @return  False where a part of it is pinned already.
  bool add_registered(void* begin, std::size_t bytes);
  /// Undoes add_registered(). @return  False where none begins there.
  bool remove_registered(const void* begin);

  /// A block that is pinned.
  struct Block {
    std::byte* begin = nullptr;  ///< As the program sees it.
    std::size_t bytes = 0;       ///< As asked for.
  };
  /// The block that covers the address, if it is pinned.
  [[nodiscard]] std::optional<Block> find(const void* address) const;
  /// An address at which the runtime can read and write what the program sees at `address`.
  [[nodiscard]] std::byte* alias(const void* address) const;

  /// Closes those pages of [begin, begin + bytes) that hold nothing else, until the host has waited for operation
  /// `sequence` of `stream`. @param begin  Of any memory; nothing happens unless allocate() made it.
  void close_until(const void* begin, std::size_t bytes, StreamId stream, std::uint64_t sequence);
  /// Opens what was closed until an operation that `clock` covers.
  void open_covered(const Clock& clock);
  /// Opens the page of the address, whatever it waits for. @return  False where it is not closed.
  bool open_page(const void* address);

 private:
  struct Entry {
    std::size_t bytes = 0;
    std::optional<DoubleMapping> mapping;  // none: registered
  };
  struct Closed {
    std::byte* block = nullptr;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    StreamId stream = 0;
    std::uint64_t sequence = 0;
  };
  using Entries = std::map<const std::byte*, Entry>;
  [[nodiscard]] Entries::const_iterator find_locked(const void* address) const;
  void close_all() const;

  mutable std::recursive_mutex mutex_;  // a fault handler may come in while this thread holds it
  Entries entries_;
  std::vector<Closed> closed_;
};

}  // namespace lockstep::emulator
