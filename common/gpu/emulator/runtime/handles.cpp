#include "emulator/runtime/handles.hpp"

#include <array>
#include <utility>

#include "emulator/cuda/lockstep_emulator/runtime_types.h"
#include "emulator/engine/settings.hpp"
#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/scheduler.hpp"

namespace lockstep::emulator {
namespace {

std::uintptr_t number_of(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

// The per-thread default streams of one thread; they end with it.
class ThreadStreams {
 public:
  ~ThreadStreams() {
    for (const auto& queue : queues_) {
      if (!queue) continue;
      abandon_capture(*queue);
      Scheduler::instance().close(queue);
    }
  }
  std::shared_ptr<StreamQueue> of(int device) {
    auto& queue = queues_[static_cast<std::size_t>(device)];
    // cudaDeviceReset closes all streams.
    if (!queue || queue->is_closed) queue = Scheduler::instance().open(device, StreamKind::kBlocking, 0);
    return queue;
  }

 private:
  std::array<std::shared_ptr<StreamQueue>, kMaxDevices> queues_;
};

thread_local ThreadStreams thread_streams;

template <typename Map, typename Handle>
auto& find(Map& map, Handle handle, const char* why) {
  const auto found = map.find(number_of(handle));
  api_require(found != map.end(), cudaErrorInvalidResourceHandle, why);
  return found->second;
}

constexpr const char* kNoStream = "the stream was never created, or has been destroyed";
constexpr const char* kNoEvent = "the event was never created, or has been destroyed";

}  // namespace

Handles& Handles::instance() {
  static Handles& handles = *new Handles;  // host threads may outlive the destructors of statics
  return handles;
}

// Reuses the handle destroyed last.
std::uintptr_t Handles::take(Numbers& destroyed) {
  if (destroyed.empty() || settings().is_checked) return next_++;
  const std::uintptr_t number = destroyed.back();
  destroyed.pop_back();
  return number;
}

cudaStream_t Handles::add(std::shared_ptr<StreamQueue> queue) {
  const std::lock_guard lock(mutex_);
  const std::uintptr_t number = take(destroyed_streams_);
  streams_[number] = std::move(queue);
  return reinterpret_cast<cudaStream_t>(number);
}

std::shared_ptr<StreamQueue> Handles::queue(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy) return Scheduler::instance().legacy(current_device());
  if (stream == cudaStreamPerThread) return thread_streams.of(current_device());
  const std::lock_guard lock(mutex_);
  return find(streams_, stream, kNoStream);
}

std::shared_ptr<StreamQueue> Handles::remove(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  auto queue = find(streams_, stream, kNoStream);
  streams_.erase(number_of(stream));
  destroyed_streams_.push_back(number_of(stream));
  return queue;
}

cudaEvent_t Handles::add(const EventState& event) {
  const std::lock_guard lock(mutex_);
  const std::uintptr_t number = take(destroyed_events_);
  events_[number] = event;
  return reinterpret_cast<cudaEvent_t>(number);
}

EventState Handles::event(cudaEvent_t event) {
  const std::lock_guard lock(mutex_);
  return find(events_, event, kNoEvent);
}

void Handles::set_record(cudaEvent_t event, std::shared_ptr<EventRecord> record) {
  const std::lock_guard lock(mutex_);
  find(events_, event, kNoEvent).record = std::move(record);
}

void Handles::remove(cudaEvent_t event) {
  const std::lock_guard lock(mutex_);
  static_cast<void>(find(events_, event, kNoEvent));
  events_.erase(number_of(event));
  destroyed_events_.push_back(number_of(event));
}

void Handles::remove_all(int device) {
  const std::lock_guard lock(mutex_);
  std::erase_if(streams_, [device](const auto& entry) { return entry.second->device == device; });
  std::erase_if(events_, [device](const auto& entry) { return entry.second.device == device; });
}

}  // namespace lockstep::emulator
