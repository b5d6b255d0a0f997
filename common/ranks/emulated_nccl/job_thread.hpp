#pragma once
/// @file
/// The thread on which a non-blocking communicator does what its calls ask for.
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace lockstep::emulated_nccl {

/// Runs jobs one after the other, each a moment after its call has returned. Thread safety: any thread.
class JobThread {
 public:
  JobThread() = default;
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;
  ~JobThread() { close(); }

  /// @param job  Must not throw.
  void post(std::function<void()> job);
  void cancel() noexcept;  ///< Jobs that have not begun never will.
  void close() noexcept;   ///< Runs the jobs that are left and ends the thread. Not from a job.

 private:
  void work() noexcept;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool is_cancelled_ = false;
  bool is_closing_ = false;
  std::thread thread_;  // started by the first job
};

}  // namespace lockstep::emulated_nccl
