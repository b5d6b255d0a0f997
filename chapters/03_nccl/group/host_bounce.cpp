#include "03_nccl/group/host_bounce.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/copy.hpp"

namespace lockstep::nccl {

std::size_t HostBounce::region_of(const std::byte* host, std::size_t bytes) const noexcept {
  const auto holds = [&](const Region& region) {
    return host >= region.host && host + bytes <= region.host + region.bytes;
  };
  return static_cast<std::size_t>(std::ranges::find_if(regions_, holds) - regions_.begin());
}

void HostBounce::bring(comm::Buffer& buffer, bool is_result, const Stream& stream) {
  if (!buffer.device.is_cpu() || buffer.count == 0) return;
  auto* const host = static_cast<std::byte*>(buffer.data);
  const auto bytes = static_cast<std::size_t>(buffer.bytes());
  const std::size_t index = region_of(host, bytes);
  if (index == regions_.size()) {
    const Device device = stream.device();
    const StreamGuard guard(stream);  // memory freed here is reused on this stream only
    regions_.push_back({host, bytes, Storage::allocate(bytes, device), Storage::allocate_pinned(bytes, device),
                        std::move(buffer.keep_alive)});
    std::memcpy(regions_[index].pinned->data(), host, bytes);
    copy_memory_async(regions_[index].device->data(), regions_[index].pinned->data(), bytes, stream);
  }
  const auto offset = static_cast<std::size_t>(host - regions_[index].host);
  if (is_result) results_.push_back({index, offset, bytes});
  buffer.data = regions_[index].device->data() + offset;
  buffer.device = stream.device();
}

void HostBounce::send_back(const Stream& stream) const {
  for (const Result& result : results_) {
    const Region& region = regions_[result.region];
    copy_memory_async(region.pinned->data() + result.offset, region.device->data() + result.offset, result.bytes,
                      stream);
  }
}

bool HostBounce::writes_to(const comm::Buffer& host) const noexcept {
  if (regions_.empty()) return false;
  const auto* const begin = static_cast<const std::byte*>(host.data);
  return std::ranges::any_of(results_, [&](const Result& result) {
    const std::byte* const result_begin = regions_[result.region].host + result.offset;
    return begin < result_begin + result.bytes && result_begin < begin + host.bytes();
  });
}

void HostBounce::deliver() const {
  for (const Result& result : results_) {
    const Region& region = regions_[result.region];
    std::memcpy(region.host + result.offset, region.pinned->data() + result.offset, result.bytes);
  }
}

}  // namespace lockstep::nccl
