#pragma once
/// @file
/// Threads for host functions of streams, which may wait for one another.
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::emulator {

/// As many threads as functions running at once; idle ones are reused. Thread safety: any thread.
class HostThreads {
 public:
  /// Runs `function` soon, even if others wait.
  void post(std::function<void()> function);
  /// Ends and joins all threads. @pre  None runs a function.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> functions_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool is_stopping_ = false;
};

/// True if the calling thread may not call CUDA: it runs a host function, or a CallsForbidden lives.
bool are_calls_forbidden();

/// While it lives, the calling thread may not call CUDA.
class CallsForbidden {
 public:
  CallsForbidden();
  CallsForbidden(const CallsForbidden&) = delete;
  CallsForbidden& operator=(const CallsForbidden&) = delete;
  ~CallsForbidden();

 private:
  bool before_;
};

}  // namespace lockstep::emulator
