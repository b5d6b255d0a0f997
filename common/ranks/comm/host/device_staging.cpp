#include "comm/host/device_staging.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "device/copy.hpp"

namespace lockstep::comm {
namespace {

// Device calls have no time limit, so this polls the device, at first continuously, then less and less often.
void wait_until(const std::function<bool()>& is_done, std::string_view trouble, const Deadline& deadline,
                const std::function<void()>& check) {
  constexpr std::chrono::microseconds kShortest{10}, kLongest{500};
  for (auto pause = kShortest; !is_done(); pause = std::min(2 * pause, kLongest)) {
    check();
    if (deadline.has_expired()) {
      throw TimeoutError(concat(trouble, " for ", format_seconds(deadline.waited()), ": is a kernel still running?"));
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

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
    host->record_use(streams_->to_host);  // if the wait is given up, it must not be reused before the copy has run
    arrived_.record(streams_->to_host);
  }
  const bool is_result = content == Content::kInOut;
  staged_.push_back({std::exchange(buffer, std::move(on_host)), std::move(host), is_result});
}

void DeviceStaging::arrive(const Deadline& deadline, const std::function<void()>& check) const {
  wait_until([this] { return arrived_.is_complete(); }, "the data to send have not been computed", deadline, check);
}

void DeviceStaging::send_back(const Deadline& deadline, const std::function<void()>& check) const {
  for (const Staged& staged : staged_) {
    if (!staged.is_result) continue;
    copy_memory_async(staged.device.data, staged.host->data(), static_cast<std::size_t>(staged.device.bytes()),
                      streams_->to_device);
    staged.host->record_use(streams_->to_device);
  }
  wait_until([this] { return streams_->to_device.is_idle(); }, "the results have not been copied back", deadline,
             check);
}

}  // namespace lockstep::comm
