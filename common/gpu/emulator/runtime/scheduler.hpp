#pragma once
/// @file
/// Runs the operations of streams: one executor thread per device, and threads for host functions.
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "emulator/engine/settings.hpp"
#include "emulator/runtime/device_streams.hpp"
#include "emulator/runtime/host_threads.hpp"
#include "emulator/runtime/operation.hpp"
#include "emulator/runtime/order_checks.hpp"

namespace lockstep::emulator {

/// Runs the operations of all streams, in the order chosen by DeviceStreams. Every operation completes without further
/// calls.
///
/// Thread safety: every call from any thread. No operation runs while the lock is held.
class Scheduler {
 public:
  /// The instance of this process; made at the first call and never destroyed.
  static Scheduler& instance();

  std::shared_ptr<StreamQueue> open(int device, StreamKind kind, int priority);
  /// Stops accepting operations for it; those issued complete.
  void close(const std::shared_ptr<StreamQueue>& queue);
  /// The device's legacy default stream.
  std::shared_ptr<StreamQueue> legacy(int device);

  /// Appends an operation. @return  Its end.
  Point enqueue(const std::shared_ptr<StreamQueue>& queue, Operation operation);
  /// The end of the stream's last issued operation.
  Point tail(const std::shared_ptr<StreamQueue>& queue);
  /// The end points of all streams of a device.
  std::vector<Point> tails(int device);

  /// True if the point has been reached. If so, the host is ordered after it.
  bool is_reached(const Point& point);
  /// Waits until the point is reached.
  void wait(const Point& point);
  /// Waits until all work issued to the device so far is done.
  void wait_device(int device);

  /// Memory has been allocated: what used its addresses before is over.
  void allocated(const std::byte* begin, std::size_t bytes);

  /// The permanent error of the device, or cudaSuccess.
  cudaError_t failure(int device);
  /// Completes everything, ends the device's threads, closes its streams and forgets its failure.
  void reset(int device);
  /// Drops operations that have not begun and waits briefly for the others: at the end of the process.
  void shut_down();
  /// True after shut_down(): nothing runs any more.
  [[nodiscard]] bool is_shut_down() const noexcept { return is_shut_down_; }

 private:
  struct Executor {
    std::thread thread;
    DeviceStreams streams;
    bool is_stopping = false;
    bool is_running = false;  // an operation is running now
    HostThreads host_threads;
  };
  using Lock = std::unique_lock<std::mutex>;

  Scheduler();
  Executor& executor(int device) { return executors_[static_cast<std::size_t>(device)]; }
  void run_device(int device);
  void run_first(Lock& lock, Executor& executor, const std::shared_ptr<StreamQueue>& queue);
  [[nodiscard]] Operation complete(Executor& executor, StreamQueue& queue, cudaError_t result);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Executor, kMaxDevices> executors_;
  StreamId last_stream_ = 0;
  std::uint64_t last_issue_ = 0;
  std::atomic<bool> is_shut_down_{false};
  OrderChecks order_checks_;
};

}  // namespace lockstep::emulator
