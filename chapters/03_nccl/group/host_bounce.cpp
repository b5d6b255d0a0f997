#include "03_nccl/group/host_bounce.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "device/copy.hpp"

namespace lockstep::nccl {

namespace {

std::byte* begin_of(const HostBounce::Use& use) { return static_cast<std::byte*>(use.buffer->data); }
std::byte* end_of(const HostBounce::Use& use) { return begin_of(use) + use.buffer->bytes(); }

}  // namespace

void HostBounce::bring(std::vector<Use> uses, const Stream& stream) {
  std::erase_if(uses, [](const Use& use) { return !use.buffer->device.is_cpu() || use.buffer->count == 0; });
  std::ranges::stable_sort(uses, std::less(), begin_of);
  for (auto first = uses.begin(); first != uses.end();) {
    std::byte *const host = begin_of(*first), *end = host;
    auto last = first;
    do {
      end = std::max(end, end_of(*last++));
    } while (last != uses.end() && begin_of(*last) < end);
    bring_region(host, static_cast<std::size_t>(end - host), {first, last}, stream);
    first = last;
  }
}

void HostBounce::bring_region(std::byte* host, std::size_t bytes, std::span<const Use> uses, const Stream& stream) {
  const Device device = stream.device();
  const StreamGuard guard(stream);  // memory freed here is reused on this stream only
  Region& region = regions_.emplace_back(
      Region{host, bytes, Storage::allocate(bytes, device), Storage::allocate_pinned(bytes, device), {}});
  std::memcpy(region.pinned->data(), host, bytes);
  copy_memory_async(region.device->data(), region.pinned->data(), bytes, stream);
  for (const Use& use : uses) {
    const auto offset = static_cast<std::size_t>(begin_of(use) - host);
    if (use.is_result) results_.push_back({regions_.size() - 1, offset, static_cast<std::size_t>(use.buffer->bytes())});
    region.keep_alive.push_back(std::move(use.buffer->keep_alive));
    use.buffer->data = region.device->data() + offset;
    use.buffer->device = device;
  }
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
