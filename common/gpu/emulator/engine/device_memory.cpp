#include "emulator/engine/device_memory.hpp"

#include <algorithm>
#include <cstring>

#include "base/round_up.hpp"
#include "emulator/engine/settings.hpp"

namespace lockstep::emulator {
namespace {

constexpr std::size_t kArenaBytes = std::size_t{64} << 30;
// New memory is filled with this byte, so that a float read from it is NaN. In a large block only the beginning is
// filled: filling all of it would make the whole block resident.
constexpr int kFillByte = 0xFF;
constexpr std::size_t kFilledBytes = std::size_t{1} << 20;

// A block and the unused gap after it.
std::size_t extent_bytes(std::size_t bytes) { return round_up(bytes, kDeviceAlignment) + kDeviceAlignment; }

}  // namespace

DeviceMemory& DeviceMemory::instance() {
  static DeviceMemory& memory = *new DeviceMemory;  // executor threads may outlive the destructors of statics
  return memory;
}

DeviceMemory::DeviceMemory()
    : mapping_(kArenaBytes),
      owners_mapping_(kArenaBytes / kDeviceAlignment * sizeof(std::atomic<Allocation*>)),
      owners_(reinterpret_cast<std::atomic<Allocation*>*>(owners_mapping_.program())) {
  static_assert(sizeof(std::atomic<Allocation*>) == sizeof(Allocation*));
  const auto devices = static_cast<std::size_t>(std::max(1, settings().machine_devices));
  region_bytes_ = kArenaBytes / (devices + 1) / page_bytes() * page_bytes();
  // An eighth stays free, for gaps and so that addresses are reused late.
  device_bytes_ = std::min(settings().device_bytes, region_bytes_ - region_bytes_ / 8);
  regions_.resize(devices + 1);
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    // A gap precedes the first block, so that an access just before that block misses all blocks.
    const std::size_t first = i * region_bytes_ + kDeviceAlignment;
    regions_[i].extents[first] = region_bytes_ - kDeviceAlignment;
    regions_[i].cursor = first;
  }
  closable_bytes_ = devices * region_bytes_;
  if (settings().is_checked) mapping_.close(0, closable_bytes_);
}

bool DeviceMemory::contains(const void* address) const noexcept {
  return address >= arena_begin() && address < arena_begin() + arena_bytes();
}

bool DeviceMemory::is_managed(const void* address) const noexcept {
  return contains(address) && address >= arena_begin() + closable_bytes_;
}

std::size_t DeviceMemory::granule_of(const void* address) const noexcept {
  return static_cast<std::size_t>(static_cast<const std::byte*>(address) - arena_begin()) / kDeviceAlignment;
}

const Allocation* DeviceMemory::find(const void* address) const {
  if (!contains(address)) return nullptr;
  if (const Allocation* owner = owners_[granule_of(address)].load(std::memory_order_acquire)) return owner;
  const std::lock_guard lock(mutex_);
  auto above = live_.upper_bound(address);
  if (above == live_.begin()) return nullptr;
  const Allocation* below = std::prev(above)->second;
  const auto region = [this](const void* place) { return granule_of(place) * kDeviceAlignment / region_bytes_; };
  return region(below->begin) == region(address) ? below : nullptr;
}

void DeviceMemory::allow_access() {
  if (!settings().is_checked) return;
  const std::lock_guard lock(access_mutex_);
  if (open_count_++ == 0) mapping_.open(0, closable_bytes_);
}

void DeviceMemory::forbid_access() {
  if (!settings().is_checked) return;
  const std::lock_guard lock(access_mutex_);
  if (--open_count_ == 0) mapping_.close(0, closable_bytes_);
}

// Next fit: takes the first free extent at or after the cursor, or else from the beginning, that is large enough.
// Returns its offset; 0 if there is none.
std::size_t DeviceMemory::take_extent(Region& region, std::size_t bytes) {
  auto place = region.extents.lower_bound(region.cursor);
  for (std::size_t seen = 0; seen < region.extents.size(); ++seen, ++place) {
    if (place == region.extents.end()) place = region.extents.begin();
    const auto [offset, free] = *place;
    if (free < bytes) continue;
    region.extents.erase(place);
    if (free > bytes) region.extents[offset + bytes] = free - bytes;
    region.cursor = offset + bytes;
    return offset;
  }
  return 0;
}

DeviceMemory::Region& DeviceMemory::region_of(const Allocation& block) {
  return block.is_managed ? regions_.back() : regions_[static_cast<std::size_t>(block.device)];
}

const Allocation* DeviceMemory::allocate(std::size_t bytes, int device, SourcePlace place) {
  return allocate_in({bytes, device, false, place});
}

const Allocation* DeviceMemory::allocate_managed(std::size_t bytes, int device, SourcePlace place) {
  return allocate_in({bytes, device, true, place});
}

const Allocation* DeviceMemory::allocate_in(const AllocationRequest& request) {
  const std::lock_guard lock(mutex_);
  Region& region = request.is_managed ? regions_.back() : regions_[static_cast<std::size_t>(request.device)];
  const std::size_t rounded = round_up(request.bytes, kDeviceAlignment);
  if (rounded < request.bytes || rounded > device_bytes_ - std::min(device_bytes_, region.used_bytes)) return nullptr;
  const std::size_t offset = take_extent(region, extent_bytes(request.bytes));
  if (offset == 0) return nullptr;
  region.used_bytes += rounded;
  Allocation& block = records_.emplace_back();
  block.begin = arena_begin() + offset;
  block.bytes = request.bytes;
  block.device = request.device;
  block.is_managed = request.is_managed;
  block.id = records_.size();
  block.allocated_at = request.place;
  live_[block.begin] = &block;
  std::memset(alias(block.begin), kFillByte, std::min(request.bytes, kFilledBytes));
  const std::size_t first = granule_of(block.begin);
  for (std::size_t i = 0; i < extent_bytes(request.bytes) / kDeviceAlignment; ++i) {
    owners_[first + i].store(&block, std::memory_order_release);
  }
  return &block;
}

// Called with the lock held.
void DeviceMemory::release(Allocation& block) {
  Region& region = region_of(block);
  const auto offset = static_cast<std::size_t>(block.begin - arena_begin());
  std::size_t bytes = extent_bytes(block.bytes);
  block.is_freed = true;
  mapping_.discard(offset, round_up(block.bytes, kDeviceAlignment));
  region.used_bytes -= round_up(block.bytes, kDeviceAlignment);
  auto next = region.extents.upper_bound(offset);
  if (next != region.extents.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = region.extents.erase(next);
  }
  if (next != region.extents.begin() && std::prev(next)->first + std::prev(next)->second == offset) {
    std::prev(next)->second += bytes;
  } else {
    region.extents[offset] = bytes;
  }
}

bool DeviceMemory::free(const void* begin) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(begin);
  if (found == live_.end()) return false;
  release(*found->second);
  live_.erase(found);
  return true;
}

void DeviceMemory::free_all(int device) {
  const std::lock_guard lock(mutex_);
  for (auto block = live_.begin(); block != live_.end();) {
    if (block->second->device == device) {
      release(*block->second);
      block = live_.erase(block);
    } else {
      ++block;
    }
  }
}

std::size_t DeviceMemory::free_bytes(int device) const {
  const std::lock_guard lock(mutex_);
  return device_bytes_ - regions_[static_cast<std::size_t>(device)].used_bytes;
}

}  // namespace lockstep::emulator
