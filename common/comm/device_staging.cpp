#include "comm/device_staging.hpp"

#include <utility>

#include "device/copy.hpp"

namespace lockstep::comm {

DeviceStaging::DeviceStaging(std::shared_ptr<StagingStreams> streams)
    : streams_(std::move(streams)), arrived_(streams_->to_host.device()) {}

void DeviceStaging::stage(Buffer& buffer, const Stream& producer, Content content) {
  const auto bytes = static_cast<std::size_t>(buffer.bytes());
  std::shared_ptr<Storage> host = Storage::allocate_pinned(bytes, streams_->to_host.device());
  Buffer on_host = buffer;
  on_host.data = host->data();
  on_host.device = Device{};
  on_host.keep_alive = host;
  if (content != Content::kRoom) {
    streams_->to_host.wait(producer);
    copy_memory_async(host->data(), buffer.data, bytes, streams_->to_host);
    arrived_.record(streams_->to_host);
  }
  const bool is_result = content == Content::kInOut;
  staged_.push_back({std::exchange(buffer, std::move(on_host)), std::move(host), is_result});
}

void DeviceStaging::arrive() const { arrived_.synchronize(); }

void DeviceStaging::send_back() const {
  for (const Staged& staged : staged_) {
    if (!staged.is_result) continue;
    copy_memory_async(staged.device.data, staged.host->data(), static_cast<std::size_t>(staged.device.bytes()),
                      streams_->to_device);
  }
  streams_->to_device.synchronize();
}

}  // namespace lockstep::comm
