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

#include "device/memory_limit.hpp"
#include "device/storage.hpp"
#include "device/stream.hpp"

namespace lockstep {

/// Keeps freed blocks by size class and stream. A block freed while its stream still works on it may be handed out
/// again to the same stream at once, because the stream's order protects it. Other streams get it only after its stream
/// has been destroyed and all that stream's work is done. Use by other streams (record_use) delays reuse until their
/// events are complete. Streams are identified by Stream::id(), because CUDA reuses the handles of destroyed streams.
///
/// Allocators are never destroyed: at exit, CUDA may be gone before the last static object. With
/// LOCKSTEP_EMULATOR_CHECK=1 or LOCKSTEP_NO_MEMORY_CACHE=1 nothing is cached: every block is an exact-size CUDA
/// allocation and is freed at once, so that a checker sees reads of stale contents and accesses past the end. Thread
/// safety: any thread may call anything.
class DeviceAllocator {
 public:
  /// Memory of the device, or host memory that the device's copy engines reach.
  enum class Kind { kDevice, kPinned };
  /// Alignment of every block, in bytes: that of cudaMalloc.
  static constexpr std::size_t kAlignment = 256;
  /// Smaller blocks are carved from chunks of kChunkBytes; larger ones are separate allocations.
  static constexpr std::size_t kLargeBytes = std::size_t{1} << 20;
  /// Size of the CUDA allocations for small blocks.
  static constexpr std::size_t kChunkBytes = std::size_t{2} << 20;

  /// The allocator of a device and kind; made at the first call, never destroyed.
  /// @throws UnavailableError  There is no such device.
  [[nodiscard]] static DeviceAllocator& of(Device device, Kind kind = Kind::kDevice);
  /// Releases the blocks of `stream` to other streams once its work is done. Call before destroying the stream.
  static void stream_ends(const Stream& stream) noexcept;

  /// @param device  Whose memory; for pinned memory, any device.
  DeviceAllocator(Device device, Kind kind);
  DeviceAllocator(const DeviceAllocator&) = delete;
  DeviceAllocator& operator=(const DeviceAllocator&) = delete;

  /// A block for work on `stream`; pinned memory is for the host.
  /// @throws OutOfMemoryError  None is left, or the limit is reached; says how much is in use.
  [[nodiscard]] std::byte* allocate(std::size_t bytes, const Stream& stream);
  /// Keeps the block from being reused until the work issued to `stream` so far is done.
  void record_use(std::byte* block, const Stream& stream);
  /// @pre `block` came from allocate().
  void release(std::byte* block) noexcept;

  /// For set_memory_limit().
  void set_limit(MemoryLimit limit);
  [[nodiscard]] AllocatorStatistics statistics() const;
  /// Sets the peak to bytes_in_use.
  void reset_peak();
  /// Returns cached large blocks that are no longer in use to CUDA.
  void release_cached();

 private:
  using StreamId = std::uint64_t;
  // For blocks that any stream may take: those of destroyed streams, and pinned ones.
  static constexpr StreamId kAnyStream = ~StreamId{0};
  // The use of a block by another stream.
  struct Use {
    Device device;
    StreamId stream = kAnyStream;
    std::shared_ptr<Event> end;  // of the stream's work on it so far
  };
  struct Block {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    StreamId stream = kAnyStream;
    std::vector<Use> uses = {};  // one for each other stream; must be over before the block is free
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
  std::vector<Block> waiting_;                   // freed, but an event is not complete
  std::map<Key, std::vector<std::byte*>> free_;  // by stream and block size
  std::byte* chunk_ = nullptr;                   // small blocks are carved from it
  std::size_t chunk_used_ = kChunkBytes;
  AllocatorStatistics statistics_;
  MemoryLimit limit_;
};

}  // namespace lockstep
