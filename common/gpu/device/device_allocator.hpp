#pragma once
/// @file
/// The allocator behind Storage on a device, and behind pinned host memory. Private to the module.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device/storage.hpp"
#include "device/stream.hpp"

namespace lockstep {

/// Keeps freed blocks by size class and stream. A block that is freed while its stream still works on it may be handed
/// out again at once to the same stream, whose order protects it; another stream gets it only after the end of the
/// first, once all that the first was given is done. What other streams did with it (record_use) delays reuse until
/// their events are over. Streams are told apart by Stream::id(): a handle would be taken for that of an ended stream.
///
/// Memory stays with the process: when it ends, CUDA may be gone before the last static object. With
/// LOCKSTEP_EMULATOR_CHECK=1 or LOCKSTEP_NO_MEMORY_CACHE=1 nothing is kept: every block comes from CUDA as long as
/// asked and goes back when freed, so that a checker sees reads of old contents and accesses past the end. Thread
/// safety: any thread may call anything.
class DeviceAllocator {
 public:
  /// Memory of the device, or host memory that the device's copy engines reach.
  enum class Kind { kDevice, kPinned };
  /// Of every block, in bytes: as cudaMalloc's.
  static constexpr std::size_t kAlignment = 256;
  /// Smaller blocks are carved from chunks of kChunkBytes; from here on a block is an allocation of its own.
  static constexpr std::size_t kLargeBytes = std::size_t{1} << 20;
  /// What is asked from CUDA for small blocks.
  static constexpr std::size_t kChunkBytes = std::size_t{2} << 20;

  /// The one of a device and kind; made at the first call, never destroyed.
  /// @throws UnavailableError  There is no such device.
  [[nodiscard]] static DeviceAllocator& of(Device device, Kind kind = Kind::kDevice);
  /// Lets other streams have what `stream` leaves, behind what it has been given. To be called before it is destroyed.
  static void stream_ends(const Stream& stream) noexcept;

  /// @param device  Whose memory; for pinned memory whichever makes it.
  DeviceAllocator(Device device, Kind kind);
  DeviceAllocator(const DeviceAllocator&) = delete;
  DeviceAllocator& operator=(const DeviceAllocator&) = delete;

  /// A block for work on `stream`; for pinned memory for the host.
  /// @throws Error  Out of memory, with what is in use and cached.
  [[nodiscard]] std::byte* allocate(std::size_t bytes, const Stream& stream);
  /// What `stream` has been given so far uses the block: it is not reused before that is done.
  void record_use(std::byte* block, const Stream& stream);
  /// Takes back what allocate() returned.
  void release(std::byte* block) noexcept;

  /// What it holds now.
  [[nodiscard]] AllocatorStatistics statistics() const;
  /// Makes bytes_in_use the peak.
  void reset_peak();
  /// Gives cached large blocks that nobody uses any more back to CUDA.
  void release_cached();

 private:
  using StreamId = std::uint64_t;
  // Of blocks that any stream may take: of ended streams, and pinned ones.
  static constexpr StreamId kAnyStream = ~StreamId{0};
  struct Block {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    StreamId stream = kAnyStream;
    std::vector<std::shared_ptr<const Event>> uses = {};  // by other streams; must be over before it is free
  };
  using Key = std::pair<StreamId, std::size_t>;

  [[nodiscard]] std::size_t block_bytes(std::size_t bytes) const noexcept;
  void inherit_from(const Stream& stream);
  std::byte* take_cached(const Key& key);
  std::byte* take_new(std::size_t bytes);
  std::byte* ask_cuda(std::size_t bytes);
  void give_back_to_cuda(const Block& block) noexcept;
  void keep(Block block);
  void recycle_finished();
  void release_cached_blocks();

  Device device_;
  Kind kind_;
  bool is_caching_;
  mutable std::mutex mutex_;
  std::map<std::byte*, Block> in_use_;
  std::vector<Block> waiting_;                   // freed, but an event is not over
  std::map<Key, std::vector<std::byte*>> free_;  // by stream and block size
  std::byte* chunk_ = nullptr;                   // from which small blocks are carved
  std::size_t chunk_used_ = kChunkBytes;
  AllocatorStatistics statistics_;
};

}  // namespace lockstep
