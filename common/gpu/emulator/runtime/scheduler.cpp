#include "emulator/runtime/scheduler.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "emulator/engine/settings.hpp"
#include "emulator/runtime/faults.hpp"

namespace lockstep::emulator {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

// How long the end of the process waits for an operation that runs.
constexpr std::chrono::seconds kExitPatience{2};

// Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", the finalizer of SplitMix64.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

}  // namespace

Scheduler& Scheduler::instance() {
  static Scheduler& scheduler = *new Scheduler;  // executor threads may outlive the destructors of statics
  return scheduler;
}

Scheduler::Scheduler() {
  watch_faults();
  std::atexit([] { instance().shut_down(); });
}

std::shared_ptr<StreamQueue> Scheduler::open_locked(int device, StreamKind kind, int priority) {
  auto queue = std::make_shared<StreamQueue>(++last_stream_, device, kind, priority);
  executor(device).queues.push_back(queue);
  return queue;
}

std::shared_ptr<StreamQueue> Scheduler::open(int device, StreamKind kind, int priority) {
  const Lock lock(mutex_);
  return open_locked(device, kind, priority);
}

void Scheduler::close(const std::shared_ptr<StreamQueue>& queue) {
  const Lock lock(mutex_);
  queue->is_closed = true;
  auto& queues = executor(queue->device).queues;
  if (queue->pending.empty()) queues.erase(std::remove(queues.begin(), queues.end(), queue), queues.end());
}

std::shared_ptr<StreamQueue> Scheduler::legacy(int device) {
  const Lock lock(mutex_);
  auto& queue = executor(device).legacy;
  if (!queue) queue = open_locked(device, StreamKind::kLegacy, 0);
  return queue;
}

Point Scheduler::tail_locked(const std::shared_ptr<StreamQueue>& queue) const {
  return {queue, queue->issued, queue->clock};
}

Point Scheduler::tail(const std::shared_ptr<StreamQueue>& queue) {
  const Lock lock(mutex_);
  return tail_locked(queue);
}

// The legacy default stream waits for all blocking streams of its device, and they for it.
// CUDA Runtime API, "Stream synchronization behavior", legacy default stream.
void Scheduler::add_implicit_waits(const StreamQueue& queue, Operation& operation) {
  if (queue.kind == StreamKind::kNonBlocking) return;
  for (const auto& other : executor(queue.device).queues) {
    const bool is_legacy_and_blocking = queue.kind != other->kind && other->kind != StreamKind::kNonBlocking;
    if (is_legacy_and_blocking && other->issued > 0) operation.waits.push_back(tail_locked(other));
  }
}

void Scheduler::order(StreamQueue& queue, const Operation& operation) {
  if (!settings().is_checked) return;
  queue.clock.merge(order_checks_.host());
  for (const Point& wait : operation.waits) queue.clock.merge(wait.clock);
  order_checks_.issued(queue.id, queue.issued, queue.clock, operation);
  queue.clock.raise(queue.id, queue.issued);
}

microseconds Scheduler::delay_of(const StreamQueue& queue) const {
  if (settings().delays_seed == 0) return microseconds{0};
  constexpr std::array kDelays{microseconds{0}, microseconds{0}, microseconds{200}, microseconds{3000}};
  return kDelays[mix(mix(settings().delays_seed + queue.id) + queue.issued) % kDelays.size()];
}

Point Scheduler::enqueue(const std::shared_ptr<StreamQueue>& queue, Operation operation) {
  const Lock lock(mutex_);
  if (is_shut_down_) return {};
  add_implicit_waits(*queue, operation);
  ++queue->issued;
  order(*queue, operation);
  operation.issue = ++last_issue_;
  operation.delay = delay_of(*queue);
  queue->pending.push_back(std::move(operation));
  Executor& device = executor(queue->device);
  if (!device.thread.joinable()) device.thread = std::thread([this, number = queue->device] { run_device(number); });
  changed_.notify_all();
  return tail_locked(queue);
}

void Scheduler::learn(const Point& point) {
  if (settings().is_checked) order_checks_.host_waited(point.clock);
}

bool Scheduler::is_reached(const Point& point) {
  const Lock lock(mutex_);
  if (!is_past(point)) return false;
  learn(point);
  return true;
}

void Scheduler::wait(const Point& point) {
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return is_past(point) || is_shut_down_; });
  learn(point);
}

std::vector<Point> Scheduler::tails(int device) {
  const Lock lock(mutex_);
  std::vector<Point> ends;
  for (const auto& queue : executor(device).queues) ends.push_back(tail_locked(queue));
  return ends;
}

void Scheduler::wait_device(int device) {
  for (const Point& end : tails(device)) wait(end);
}

cudaError_t Scheduler::failure(int device) {
  const Lock lock(mutex_);
  return executor(device).failure;
}

void Scheduler::reset(int device) {
  wait_device(device);
  std::thread ending;
  {
    const Lock lock(mutex_);
    Executor& reset = executor(device);
    for (const auto& queue : reset.queues) queue->is_closed = true;
    reset.queues.clear();
    reset.legacy.reset();
    reset.failure = cudaSuccess;
    reset.is_stopping = true;
    ending.swap(reset.thread);
  }
  changed_.notify_all();
  if (ending.joinable()) ending.join();
  executor(device).host_threads.stop();
  const Lock lock(mutex_);
  executor(device).is_stopping = false;
}

void Scheduler::shut_down() {
  Lock lock(mutex_);
  is_shut_down_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, kExitPatience, [this] {
    return std::none_of(executors_.begin(), executors_.end(), [](const Executor& one) { return one.is_running; });
  });
}

// Of the operations that could run, the one whose delay ends first; among equals by priority, then in issue order.
// Empty where none can run, with the time at which one could.
std::shared_ptr<StreamQueue> Scheduler::choose(Executor& device, TimePoint& wake_at) {
  std::shared_ptr<StreamQueue> best;
  const auto rank = [](const StreamQueue& queue) {
    const Operation& first = queue.pending.front();
    return std::tuple(*first.not_before, queue.priority, first.issue);
  };
  const TimePoint now = steady_clock::now();
  for (const auto& queue : device.queues) {
    if (queue->is_busy || queue->pending.empty()) continue;
    Operation& first = queue->pending.front();
    if (!std::all_of(first.waits.begin(), first.waits.end(), is_past)) continue;
    // Without delays all are equal, so that issue order decides.
    if (!first.not_before) first.not_before = first.delay.count() == 0 ? TimePoint{} : now + first.delay;
    if (!best || rank(*queue) < rank(*best)) best = queue;
  }
  if (!best) return nullptr;
  wake_at = *best->pending.front().not_before;
  return wake_at <= now ? best : nullptr;
}

void Scheduler::run_device(int number) {
  Executor& device = executor(number);
  Lock lock(mutex_);
  while (!is_shut_down_ && !device.is_stopping) {
    TimePoint wake_at = TimePoint::max();
    if (const auto queue = choose(device, wake_at)) {
      run_first(lock, device, queue);
    } else if (wake_at == TimePoint::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, wake_at);
    }
  }
}

void Scheduler::run_first(Lock& lock, Executor& device, const std::shared_ptr<StreamQueue>& queue) {
  Operation& first = queue->pending.front();
  queue->is_busy = true;
  const bool is_skipped = !first.run || (device.failure != cudaSuccess && !first.runs_on_failed_device);
  if (is_skipped) {
    complete(*queue, cudaSuccess);
  } else if (first.is_host_function) {
    device.host_threads.post([this, queue, &first] {
      const cudaError_t result = first.run();
      const Lock relock(mutex_);
      complete(*queue, result);
    });
  } else {
    device.is_running = true;
    lock.unlock();
    const cudaError_t result = first.run();
    lock.lock();
    device.is_running = false;
    complete(*queue, result);
  }
}

// Called with the lock held.
void Scheduler::complete(StreamQueue& queue, cudaError_t result) {
  Executor& device = executor(queue.device);
  if (result != cudaSuccess && device.failure == cudaSuccess) device.failure = result;
  const Operation done = std::move(queue.pending.front());
  queue.pending.pop_front();
  queue.is_busy = false;
  ++queue.completed;
  if (queue.is_closed && queue.pending.empty()) {
    auto& queues = device.queues;
    const auto same = [&](const auto& other) { return other.get() == &queue; };
    queues.erase(std::remove_if(queues.begin(), queues.end(), same), queues.end());
  }
  changed_.notify_all();
}

}  // namespace lockstep::emulator
