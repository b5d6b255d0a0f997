#include "device/storage.hpp"

#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "device/caching_allocator.hpp"
#include "device/device_allocator.hpp"
#include "device/memory_limit.hpp"
#include "device/read_lock.hpp"

namespace lockstep {

namespace {

std::shared_ptr<Storage> allocate_from(DeviceAllocator& allocator, std::size_t bytes, const Stream& stream,
                                       Device device) {
  std::byte* const block = allocator.allocate(bytes, stream);
  std::shared_ptr<void> owner(block, [&allocator](void* data) { allocator.release(static_cast<std::byte*>(data)); });
  return std::make_shared<Storage>(block, bytes, device, std::move(owner), &allocator);
}

}  // namespace

std::shared_ptr<Storage> Storage::allocate(std::size_t bytes, Device device) {
  if (fault::take(fault::Kind::kOutOfMemory)) {
    throw OutOfMemoryError(
        concat("out of memory on ", device.name(), ": ", bytes, " bytes were asked for (an injected fault)"));
  }
  if (device != Device{}) return allocate_from(DeviceAllocator::of(device), bytes, current_stream(device), device);
  const std::shared_ptr<CachingAllocator>& allocator = CachingAllocator::of_host();
  std::byte* const block = allocator->allocate(bytes);
  std::shared_ptr<void> owner(
      block, [allocator, bytes](void* data) { allocator->release(static_cast<std::byte*>(data), bytes); });
  return std::make_shared<Storage>(block, bytes, device, std::move(owner));
}

std::shared_ptr<Storage> Storage::allocate_pinned(std::size_t bytes, Device device) {
  if (device.is_cpu()) return allocate(bytes, device);
  return allocate_from(DeviceAllocator::of(device, DeviceAllocator::Kind::kPinned), bytes, current_stream(device),
                       Device{});
}

std::shared_ptr<Storage> Storage::wrap(std::byte* data, std::size_t bytes, Device device, std::shared_ptr<void> owner) {
  return std::make_shared<Storage>(data, bytes, device, std::move(owner));
}

void Storage::record_use(const Stream& stream) const {
  if (allocator_ != nullptr && !stream.device().is_cpu()) allocator_->record_use(data_, stream);
}

void Storage::wait_for_readers() const noexcept { ReadLock::wait(*this); }

AllocatorStatistics allocator_statistics(Device device) {
  return device.is_cpu() ? CachingAllocator::of_host()->statistics() : DeviceAllocator::of(device).statistics();
}

void reset_peak(Device device) {
  device.is_cpu() ? CachingAllocator::of_host()->reset_peak() : DeviceAllocator::of(device).reset_peak();
}

void release_cached_memory(Device device) {
  device.is_cpu() ? CachingAllocator::of_host()->release_cached() : DeviceAllocator::of(device).release_cached();
}

}  // namespace lockstep
