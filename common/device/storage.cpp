#include "device/storage.hpp"

#include "base/error.hpp"
#include "device/caching_allocator.hpp"

namespace lockstep {

namespace {

// Shared: a storage that outlives static destruction still finds the allocator it came from.
const std::shared_ptr<CachingAllocator>& allocator_of(Device device) {
  if (!device.is_available()) {
    throw Error(concat("device ", device.name(), " is not available in this build; use --device cpu"));
  }
  static const auto host_allocator = std::make_shared<CachingAllocator>();
  return host_allocator;
}

}  // namespace

std::shared_ptr<Storage> Storage::allocate(std::size_t bytes, Device device) {
  const std::shared_ptr<CachingAllocator>& allocator = allocator_of(device);
  std::byte* const block = allocator->allocate(bytes);
  std::shared_ptr<void> owner(
      block, [allocator, bytes](void* data) { allocator->release(static_cast<std::byte*>(data), bytes); });
  return std::make_shared<Storage>(block, bytes, device, std::move(owner));
}

std::shared_ptr<Storage> Storage::wrap(std::byte* data, std::size_t bytes, Device device, std::shared_ptr<void> owner) {
  return std::make_shared<Storage>(data, bytes, device, std::move(owner));
}

AllocatorStatistics allocator_statistics(Device device) { return allocator_of(device)->statistics(); }

void reset_peak(Device device) { allocator_of(device)->reset_peak(); }

void release_cached_memory(Device device) { allocator_of(device)->release_cached(); }

}  // namespace lockstep
