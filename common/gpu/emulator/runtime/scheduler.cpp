#include "emulator/runtime/scheduler.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "emulator/engine/settings.hpp"
#include "emulator/runtime/faults.hpp"

namespace lockstep::emulator {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

// How long the end of the process waits for a running operation.
constexpr std::chrono::seconds kExitPatience{2};

// Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", the finalizer of SplitMix64.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

/// The artificial delay of the stream's last operation once it could run (LOCKSTEP_EMULATOR_DELAYS).
microseconds delay_of(const StreamQueue& queue) {
  if (settings().delays_seed == 0) return microseconds{0};
  constexpr std::array kDelays{microseconds{0}, microseconds{0}, microseconds{200}, microseconds{3000}};
  return kDelays[mix(mix(settings().delays_seed + queue.id) + queue.issued) % kDelays.size()];
}

// An exception would end the process, as that of a thread that nobody catches. It becomes the device's error instead.
template <typename Run>
cudaError_t run_or_fail(int device, const Operation& operation, const Run& run) {
  try {
    return run();
  } catch (const std::exception& error) {
    const SourcePlace& place = operation.place;
    const std::string where = place.file == nullptr ? "" : concat(" at ", place.file, ":", place.line);
    std::cerr << concat("emulated device ", device, ": ", operation.name, where, " failed: ", error.what(), "\n");
    return cudaErrorUnknown;
  }
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

void Scheduler::allocated(const std::byte* begin, std::size_t bytes) {
  const Lock lock(mutex_);
  order_checks_.allocated(begin, bytes);
}

std::shared_ptr<StreamQueue> Scheduler::open(int device, StreamKind kind, int priority) {
  const Lock lock(mutex_);
  return executor(device).streams.open(++last_stream_, device, kind, priority);
}

void Scheduler::close(const std::shared_ptr<StreamQueue>& queue) {
  const Lock lock(mutex_);
  executor(queue->device).streams.close(*queue);
}

std::shared_ptr<StreamQueue> Scheduler::legacy(int device) {
  const Lock lock(mutex_);
  DeviceStreams& streams = executor(device).streams;
  if (auto queue = streams.legacy()) return queue;
  return streams.open(++last_stream_, device, StreamKind::kLegacy, 0);
}

Point Scheduler::tail(const std::shared_ptr<StreamQueue>& queue) {
  const Lock lock(mutex_);
  return tail_of(queue);
}

Point Scheduler::enqueue(const std::shared_ptr<StreamQueue>& queue, Operation operation) {
  const Lock lock(mutex_);
  if (is_shut_down_) return {};
  Executor& device = executor(queue->device);
  device.streams.add_implicit_waits(*queue, operation);
  ++queue->issued;
  operation.issue = ++last_issue_;
  order_checks_.issued(*queue, operation);
  operation.delay = delay_of(*queue);
  queue->pending.push_back(std::move(operation));
  if (!device.thread.joinable()) device.thread = std::thread([this, number = queue->device] { run_device(number); });
  changed_.notify_all();
  return tail_of(queue);
}

bool Scheduler::is_reached(const Point& point) {
  const Lock lock(mutex_);
  if (!is_past(point)) return false;
  order_checks_.host_waited(point.clock);
  return true;
}

void Scheduler::wait(const Point& point) {
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return is_past(point) || is_shut_down_; });
  order_checks_.host_waited(point.clock);
}

std::vector<Point> Scheduler::tails(int device) {
  const Lock lock(mutex_);
  return executor(device).streams.tails();
}

void Scheduler::wait_device(int device) {
  for (const Point& end : tails(device)) wait(end);
}

cudaError_t Scheduler::failure(int device) {
  const Lock lock(mutex_);
  return executor(device).streams.failure();
}

void Scheduler::reset(int device) {
  wait_device(device);
  std::thread ending;
  {
    const Lock lock(mutex_);
    Executor& ended = executor(device);
    ended.streams.reset();
    ended.is_stopping = true;
    ending.swap(ended.thread);
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

void Scheduler::run_device(int number) {
  Executor& device = executor(number);
  Lock lock(mutex_);
  while (!is_shut_down_ && !device.is_stopping) {
    const auto now = steady_clock::now();
    const DeviceStreams::Next next = device.streams.next(now);
    if (!next.queue) {
      changed_.wait(lock);
    } else if (next.at <= now) {
      run_first(lock, device, next.queue);
    } else {
      changed_.wait_until(lock, next.at);
    }
  }
}

void Scheduler::run_first(Lock& lock, Executor& device, const std::shared_ptr<StreamQueue>& queue) {
  Operation& first = queue->pending.front();
  queue->is_busy = true;
  const bool is_skipped = !first.run || (device.streams.failure() != cudaSuccess && !first.runs_on_failed_device);
  Operation done;
  if (is_skipped) {
    done = complete(device, *queue, cudaSuccess);
  } else if (first.is_host_function) {
    order_checks_.host_waited(first.before);  // it may tell other threads of the host that its stream has come so far
    device.host_threads.post([this, &device, queue, &first] {
      const cudaError_t result = run_or_fail(queue->device, first, first.run);
      Operation done_here;
      const Lock relock(mutex_);
      done_here = complete(device, *queue, result);
    });
  } else {
    device.is_running = true;
    lock.unlock();
    const cudaError_t result =
        run_or_fail(queue->device, first, [&] { return order_checks_.run(*queue, first, mutex_); });
    lock.lock();
    device.is_running = false;
    done = complete(device, *queue, result);
  }
  lock.unlock();
  {
    const CallsForbidden scope;  // what the operation owns may be the program's: a kernel's arguments
    done = {};
  }
  lock.lock();
}

// Called with the lock held.
Operation Scheduler::complete(Executor& device, StreamQueue& queue, cudaError_t result) {
  order_checks_.completed(queue.id, queue.completed + 1);
  Operation done = device.streams.complete(queue, result);
  changed_.notify_all();
  return done;
}

}  // namespace lockstep::emulator
