#include "emulator/runtime/device_streams.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace lockstep::emulator {

std::shared_ptr<StreamQueue> DeviceStreams::open(StreamId id, int device, StreamKind kind, int priority) {
  return queues_.emplace_back(std::make_shared<StreamQueue>(id, device, kind, priority));
}

std::shared_ptr<StreamQueue> DeviceStreams::legacy() const {
  const auto is_legacy = [](const auto& queue) { return queue->kind == StreamKind::kLegacy; };
  const auto found = std::find_if(queues_.begin(), queues_.end(), is_legacy);
  return found == queues_.end() ? nullptr : *found;
}

void DeviceStreams::close(StreamQueue& queue) {
  queue.is_closed = true;
  drop_if_drained(queue);
}

void DeviceStreams::reset() {
  for (const auto& queue : queues_) queue->is_closed = true;
  queues_.clear();
  failure_ = cudaSuccess;
}

std::vector<Point> DeviceStreams::tails() const {
  std::vector<Point> ends;
  for (const auto& queue : queues_) ends.push_back(tail_of(queue));
  return ends;
}

// The legacy default stream waits for all blocking streams of its device, and they wait for it.
// CUDA Runtime API, "Stream synchronization behavior", legacy default stream.
void DeviceStreams::add_implicit_waits(const StreamQueue& queue, Operation& operation) const {
  if (queue.kind == StreamKind::kNonBlocking) return;
  for (const auto& other : queues_) {
    const bool is_legacy_and_blocking = queue.kind != other->kind && other->kind != StreamKind::kNonBlocking;
    if (is_legacy_and_blocking && other->issued > 0) operation.waits.push_back(tail_of(other));
  }
}

DeviceStreams::Next DeviceStreams::next(TimePoint now) {
  Next best;
  const auto rank = [](const StreamQueue& queue) {
    const Operation& first = queue.pending.front();
    return std::tuple(*first.not_before, queue.priority, first.issue);
  };
  for (const auto& queue : queues_) {
    if (queue->is_busy || queue->pending.empty()) continue;
    Operation& first = queue->pending.front();
    if (!std::all_of(first.waits.begin(), first.waits.end(), is_past)) continue;
    // Without delays all times are equal, so that issue order decides.
    if (!first.not_before) first.not_before = first.delay.count() == 0 ? TimePoint{} : now + first.delay;
    if (!best.queue || rank(*queue) < rank(*best.queue)) best = {queue, *first.not_before};
  }
  return best;
}

Operation DeviceStreams::complete(StreamQueue& queue, cudaError_t result) {
  if (result != cudaSuccess && failure_ == cudaSuccess) failure_ = result;
  Operation done = std::move(queue.pending.front());
  queue.pending.pop_front();
  queue.is_busy = false;
  ++queue.completed;
  if (queue.is_closed) drop_if_drained(queue);
  return done;
}

void DeviceStreams::drop_if_drained(const StreamQueue& queue) {
  if (queue.pending.empty()) std::erase_if(queues_, [&](const auto& other) { return other.get() == &queue; });
}

}  // namespace lockstep::emulator
