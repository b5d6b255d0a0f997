#include "comm/registered_memory.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.hpp"
#include "base/round_up.hpp"
#include "comm/shared_memory/shared_file.hpp"
#include "device/memory_limit.hpp"

namespace lockstep::comm {
namespace {

constexpr std::int64_t kNone = -1;
// A freed block is reused for a request of at least this fraction of its size; a smaller one would waste the rest.
constexpr std::size_t kSmallestShare = 2;

}  // namespace

// Storages return their blocks to it.
struct RegisteredMemory::Arena {
  // Precedes the blocks of a region.
  struct alignas(64) Header {
    std::atomic<int> ranks_that_freed;
  };
  struct Block {
    Header* header;
    std::byte* own;  // this rank's part
    std::uint64_t own_offset;
    std::size_t stride;
  };

  explicit Arena(std::shared_ptr<SharedMemory> shared) : memory(std::move(shared)) {}

  [[nodiscard]] std::int64_t take_freed(std::size_t bytes);
  [[nodiscard]] std::size_t add_block(std::size_t bytes, const Deadline& deadline);
  void release(std::size_t index, std::size_t bytes) noexcept;

  std::shared_ptr<SharedMemory> memory;
  mutable std::mutex mutex;                        // guards the members below
  std::vector<Block> blocks;                       // in order of creation, the same on all ranks
  std::map<const std::byte*, std::size_t> in_use;  // this rank's parts, by address, with their index
  std::size_t bytes_in_use = 0;                    // of them, as asked for
};

// At rank 0: takes the smallest fitting block that all ranks have freed. The others are told later: a rank that frees
// it at once must already find the count at zero.
std::int64_t RegisteredMemory::Arena::take_freed(std::size_t bytes) {
  const std::scoped_lock lock(mutex);
  std::int64_t chosen = kNone;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const bool is_free = blocks[i].header->ranks_that_freed.load() == memory->world_size();
    const bool fits = bytes <= blocks[i].stride && bytes >= blocks[i].stride / kSmallestShare;
    const bool is_smaller = chosen == kNone || blocks[i].stride < blocks[static_cast<std::size_t>(chosen)].stride;
    if (is_free && fits && is_smaller) chosen = static_cast<std::int64_t>(i);
  }
  if (chosen != kNone) blocks[static_cast<std::size_t>(chosen)].header->ranks_that_freed.store(0);
  return chosen;
}

std::size_t RegisteredMemory::Arena::add_block(std::size_t bytes, const Deadline& deadline) {
  const std::size_t page = page_bytes();
  const std::size_t stride = round_up(bytes, bytes >= kHugePageBytes ? kHugePageBytes : page);
  // The header is at the end of the region, so that the blocks begin at huge page boundaries.
  const std::size_t blocks_bytes = stride * static_cast<std::size_t>(memory->world_size());
  const SharedRegion region = memory->grow(blocks_bytes + sizeof(Header), deadline);
  const std::size_t own = stride * static_cast<std::size_t>(memory->rank());
  const std::scoped_lock lock(mutex);
  blocks.push_back(
      {reinterpret_cast<Header*>(region.data + blocks_bytes), region.data + own, region.offset + own, stride});
  return blocks.size() - 1;
}

void RegisteredMemory::Arena::release(std::size_t index, std::size_t bytes) noexcept {
  const std::scoped_lock lock(mutex);
  bytes_in_use -= bytes;
  in_use.erase(blocks[index].own);
  blocks[index].header->ranks_that_freed.fetch_add(1);
}

RegisteredMemory::RegisteredMemory(std::shared_ptr<SharedMemory> memory)
    : arena_(std::make_shared<Arena>(std::move(memory))) {}

std::shared_ptr<Storage> RegisteredMemory::allocate(std::size_t bytes, const Deadline& deadline) {
  SharedMemory& memory = *arena_->memory;
  const std::size_t wanted = std::max<std::size_t>(bytes, 1);
  const std::string what = concat("allocating ", bytes, " bytes of registered memory");
  auto counted = std::make_shared<const RegisteredBytes>(bytes);
  const std::int64_t own_choice = memory.rank() == 0 ? arena_->take_freed(wanted) : kNone;
  const auto notes = memory.all_gather({.bytes = wanted, .number = own_choice}, what, deadline);
  memory.check_same_bytes(notes);

  const std::int64_t freed = notes[0].number;
  const std::size_t index = freed == kNone ? arena_->add_block(wanted, deadline) : static_cast<std::size_t>(freed);
  const std::scoped_lock lock(arena_->mutex);
  const Arena::Block& block = arena_->blocks[index];
  arena_->in_use.emplace(block.own, index);
  arena_->bytes_in_use += bytes;
  std::shared_ptr<void> owner(block.own, [arena = arena_, index, counted = std::move(counted)](void*) {
    arena->release(index, counted->count());
  });
  return Storage::wrap(block.own, bytes, Device{}, std::move(owner));
}

std::size_t RegisteredMemory::bytes_in_use() const {
  const std::scoped_lock lock(arena_->mutex);
  return arena_->bytes_in_use;
}

std::optional<std::uint64_t> RegisteredMemory::find(const void* data, std::size_t bytes) const {
  const auto* const first = static_cast<const std::byte*>(data);
  const std::scoped_lock lock(arena_->mutex);
  const auto next = arena_->in_use.upper_bound(first);
  if (next == arena_->in_use.begin()) return std::nullopt;
  const Arena::Block& block = arena_->blocks[std::prev(next)->second];
  const auto inside = static_cast<std::size_t>(first - block.own);
  if (inside > block.stride || bytes > block.stride - inside) return std::nullopt;
  return block.own_offset + inside;
}

}  // namespace lockstep::comm
