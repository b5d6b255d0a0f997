#pragma once
/// @file
/// Blocks of shared memory that collectives recognise: a reduction reads and writes them in place.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/shared_memory/shared_memory.hpp"
#include "device/storage.hpp"

namespace lockstep::comm {

/// The registered memory of one rank.
///
/// Every allocate() makes one block per rank, side by side in one region of the shared file, equal in size: the block
/// of rank r begins r strides after that of rank 0, so a rank finds the bytes of a peer that correspond to its own. A
/// freed block is used again once all ranks have freed theirs; rank 0 decides, so all ranks decide alike even if a
/// worker thread on one of them holds a reference longer.
///
/// Thread safety: allocate() from one thread at a time, find() and the release of storages from any.
class RegisteredMemory {
 public:
  /// @param memory  Kept alive by this object and by every storage.
  explicit RegisteredMemory(std::shared_ptr<SharedMemory> memory);

  /// This rank's block. Collective: all ranks call it with the same `bytes`, in the same order.
  /// @return  Host memory, 64-byte aligned and more; content undefined. Counted as RegisteredBytes.
  /// @throws OutOfMemoryError  A memory limit of this rank, before the other ranks are waited for.
  /// @throws MismatchError  Ranks ask for different sizes. @throws IoError, TimeoutError, PeerFailedError  As
  ///                        SharedMemory::grow().
  /// @cost  A synchronisation; if no freed block fits, SharedMemory::grow() too.
  [[nodiscard]] std::shared_ptr<Storage> allocate(std::size_t bytes, const Deadline& deadline);

  /// Bytes of this rank's blocks in use, as asked for.
  [[nodiscard]] std::size_t bytes_in_use() const;

  /// The offset in the shared file of [data, data + bytes); nullopt unless it is inside one block of this rank that is
  /// in use. SharedMemory::at() turns the offset into an address in any rank.
  /// @cost  O(log n) in the number of blocks.
  [[nodiscard]] std::optional<std::uint64_t> find(const void* data, std::size_t bytes) const;

 private:
  struct Arena;
  std::shared_ptr<Arena> arena_;  // storages hold it too
};

}  // namespace lockstep::comm
