#pragma once
/// @file
/// The thread on which a non-blocking communicator performs its calls.
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace lockstep::emulated_nccl {

/// Runs jobs one after the other, each shortly after its call has returned. Thread safety: any thread.
class JobThread {
 public:
  JobThread() = default;
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;
  ~JobThread() { close(); }

  /// @param job  Must not throw. Dropped if the thread has ended.
  void post(std::function<void()> job);
  void cancel() noexcept;  ///< Drops jobs that have not begun, at the latest in close().
  void close() noexcept;   ///< Runs the remaining jobs and ends the thread. Not from a job.

 private:
  void work() noexcept;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool is_cancelled_ = false;
  bool is_closing_ = false;
  std::thread thread_;  // started by the first job
};

}  // namespace lockstep::emulated_nccl
